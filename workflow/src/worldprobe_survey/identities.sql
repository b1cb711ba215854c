-- Who the people are, apart from what they answered.
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE people (
    participant TEXT PRIMARY KEY,
    pid TEXT NOT NULL UNIQUE,
    withdrawal_key TEXT NOT NULL UNIQUE,
    consented_at INTEGER NOT NULL
) STRICT;
CREATE TABLE submissions (
    participant TEXT NOT NULL REFERENCES people ON DELETE CASCADE,
    submission TEXT NOT NULL,
    study TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    session TEXT,
    code TEXT,
    outcome TEXT,
    PRIMARY KEY (participant, submission)
) STRICT, WITHOUT ROWID;
-- People who finished and withdrew afterwards: enough to pay them, and nothing that leads to what they answered.
CREATE TABLE owed (
    submission TEXT PRIMARY KEY,
    study TEXT NOT NULL,
    code TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
