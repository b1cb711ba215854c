-- Who the people are, apart from what they answered.
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE people (
    participant TEXT PRIMARY KEY,
    pid TEXT NOT NULL UNIQUE,
    consented_at INTEGER NOT NULL
) STRICT;
CREATE TABLE submissions (
    participant TEXT NOT NULL REFERENCES people ON DELETE CASCADE,
    submission TEXT NOT NULL,
    study TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    code TEXT,
    outcome TEXT,
    PRIMARY KEY (participant, submission)
) STRICT, WITHOUT ROWID;
