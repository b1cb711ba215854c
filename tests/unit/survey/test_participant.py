"""One person's way from the link to the completion code."""


def test_a_person_goes_from_consent_to_the_code(lab):
    person = lab.person()
    assert "Before you begin" in person.open().text
    assert person.post("consent", {"agree": True}).json() == {"state": "moved"}
    assert "About you" in person.open("/").text
    person.post("demographics", {"age": 30, "gender": "woman", "country": "Chile", "language": None})
    assert "Instructions" in person.open("/").text
    person.post("begin")
    assert 'id="trial"' in person.open("/").text
    assert person.finish() == 8
    assert "DONE1234" in person.open("/").text
