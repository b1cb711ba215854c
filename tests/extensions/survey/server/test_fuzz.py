"""Whatever is sent, the server neither breaks nor stores what it should not."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=10,
)
NAMES = ["consent", "decline", "demographics", "begin", "answer", "comment", "withdraw"]
KEYS = [
    "agree",
    "age",
    "gender",
    "country",
    "language",
    "token",
    "answer",
    "rt_ms",
    "n_blurs",
    "sure",
    "words",
    "meaning",
]
QUICK = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUICK
@given(
    name=st.sampled_from(NAMES),
    body=JSON | st.dictionaries(st.sampled_from(KEYS), JSON, max_size=4),
)
@pytest.mark.long
def test_no_body_breaks_the_server(lab, name, body):
    import json

    person = lab.person()
    person.open()
    if name != "consent":
        person.post("consent", {"agree": True})
    content = json.dumps(body).encode("utf-8", "surrogatepass")
    headers = {"origin": "http://127.0.0.1:8000", "content-type": "application/json"}
    response = person.browser.post(f"/api/{name}", content=content, headers=headers)
    assert response.status_code in (200, 400, 403, 404, 413, 422, 429)
    assert "Traceback" not in response.text
    assert lab.rows("SELECT count(*) FROM trials WHERE answer IS NOT NULL") == [(0,)]
