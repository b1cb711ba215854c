-- Every rule that the server follows is a constraint here too, so that no fault of ours can store what must not be.
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE lists (
    list TEXT PRIMARY KEY,
    eval_type TEXT NOT NULL CHECK (eval_type IN ('likert', 'choice')),
    domain TEXT NOT NULL
) STRICT;
CREATE TABLE list_trials (
    list TEXT NOT NULL REFERENCES lists,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('test', 'catch', 'practice')),
    question TEXT NOT NULL,
    PRIMARY KEY (list, number)
) STRICT, WITHOUT ROWID;
-- What shaped the answers: settings, words and consent, each as it was when somebody agreed to take part.
CREATE TABLE designs (design TEXT PRIMARY KEY, first_at INTEGER NOT NULL, content TEXT NOT NULL) STRICT;
CREATE TABLE sessions (
    session TEXT PRIMARY KEY,
    participant TEXT NOT NULL,
    list TEXT NOT NULL REFERENCES lists,
    domain TEXT NOT NULL,
    seed INTEGER NOT NULL,
    is_preview INTEGER NOT NULL DEFAULT 0 CHECK (is_preview IN (0, 1)),
    status TEXT NOT NULL CHECK (status IN ('active', 'complete', 'expired', 'returned', 'ineligible')),
    consent_digest TEXT NOT NULL,
    design TEXT NOT NULL REFERENCES designs,
    started_at INTEGER NOT NULL,
    touched_at INTEGER NOT NULL,
    asked_at INTEGER,
    instructed_at INTEGER,
    finished_at INTEGER,
    is_late INTEGER NOT NULL DEFAULT 0 CHECK (is_late IN (0, 1)),
    is_reopened INTEGER NOT NULL DEFAULT 0 CHECK (is_reopened IN (0, 1)),
    n_tries INTEGER NOT NULL DEFAULT 0,
    comment TEXT,
    UNIQUE (participant, domain),
    CHECK ((status = 'complete') <= (finished_at IS NOT NULL))
) STRICT;
-- Those that count: a researcher who looks at the survey is not one of its people.
CREATE VIEW real_sessions AS SELECT * FROM sessions WHERE NOT is_preview;
CREATE INDEX sessions_of_list ON sessions (list, status);
CREATE TABLE demographics (
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (session, question)
) STRICT, WITHOUT ROWID;
CREATE TABLE trials (
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
    position INTEGER NOT NULL CHECK (position >= 1),
    list TEXT NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    token TEXT NOT NULL UNIQUE,
    shown_at INTEGER,
    answered_at INTEGER,
    answer INTEGER CHECK (answer BETWEEN 1 AND 5),
    rt_ms INTEGER CHECK (rt_ms BETWEEN 0 AND 86400000),
    n_blurs INTEGER CHECK (n_blurs BETWEEN 0 AND 1000000),
    is_resumed INTEGER NOT NULL DEFAULT 0 CHECK (is_resumed IN (0, 1)),
    PRIMARY KEY (session, position),
    UNIQUE (session, number),
    FOREIGN KEY (list, number) REFERENCES list_trials (list, number),
    CHECK ((answer IS NULL) = (answered_at IS NULL)),
    CHECK (answer IS NULL OR shown_at IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    event INTEGER PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL
) STRICT;
CREATE INDEX events_of_session ON events (session);
CREATE TABLE tallies (day TEXT NOT NULL, kind TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (day, kind)) STRICT, WITHOUT ROWID;
