-- what the code of 0.1.0 wrote: one answer, one failure, one attempt that was cut off, one rating
PRAGMA application_id = 1380533064;
PRAGMA user_version = 6;
BEGIN TRANSACTION;
CREATE TABLE answers (
            item TEXT NOT NULL,
            condition TEXT NOT NULL,
            draw INTEGER NOT NULL,
            call TEXT NOT NULL REFERENCES calls (key),
            PRIMARY KEY (condition, item, draw)
        ) WITHOUT ROWID;
INSERT INTO "answers" VALUES('a','old',0,'key a');
CREATE TABLE aside (key TEXT NOT NULL, body BLOB NOT NULL, created_at REAL NOT NULL);
CREATE TABLE attempts (
            id TEXT PRIMARY KEY,
            worker TEXT NOT NULL REFERENCES workers (id),
            key TEXT NOT NULL,
            model TEXT NOT NULL,
            tokens INTEGER NOT NULL,
            money_usd REAL NOT NULL,
            sent_at REAL NOT NULL
        ) WITHOUT ROWID;
INSERT INTO "attempts" VALUES('c','930a5beee2af400990fe04c549d76974','key c','m',100,0.5,1.79510065507503771779e+09);
CREATE TABLE calls (
            key TEXT PRIMARY KEY,
            model TEXT NOT NULL,
            request TEXT NOT NULL,
            text TEXT NOT NULL,
            finish TEXT NOT NULL,
            tokens TEXT,              -- JSON lists, where the backend gives them
            logprobs TEXT,
            tokens_in INTEGER,
            tokens_out INTEGER,
            money_usd REAL,           -- NULL: the price is unknown
            latency_s REAL,
            created_at REAL NOT NULL
        ) WITHOUT ROWID;
INSERT INTO "calls" VALUES('key a','m','{}','yes','',NULL,NULL,5,2,0.25,NULL,1.79510065503775811199e+09);
CREATE TABLE chain (
            writer TEXT NOT NULL,
            place INTEGER NOT NULL,
            at REAL NOT NULL,
            body TEXT NOT NULL,       -- JSON: (table, key, hash) of each record
            link TEXT NOT NULL,       -- SHA-256 over this row and the link before
            PRIMARY KEY (writer, place)
        );
INSERT INTO "chain" VALUES('54779771fd81415f95c3a1b6361453e1',0,1.79510065499319577215e+09,'[["items","\"a\"","3e9d04393e5b97e63b9437a6c7474cf029072af0"],["items","\"b\"","b05b2389920eeba743ab752adcaf72bc89b53797"],["items","\"c\"","7b472c60752f14970eb2c10a30c2e9139b22c173"]]','8f38e7ea87f0892a15683b2201f063a0c92fc1cb581d177bf406cfa38378d90a');
INSERT INTO "chain" VALUES('54779771fd81415f95c3a1b6361453e1',1,1.79510065500001668925e+09,'[["conditions","\"old\"","3a587a1127824aab70fcf708ad8a3bae7f18fa9e"]]','f9dcbc52badba98410d122cd373d10e622a476a4127072dcb295947fe81e06aa');
INSERT INTO "chain" VALUES('54779771fd81415f95c3a1b6361453e1',2,1.79510065503775811199e+09,'[["calls","\"key a\"","691045af6f35ac8a83e3ceffbec81f81520eacda"],["answers","[\"old\",\"a\",0]","70dea91ca32c845ffeb5eb40cb379559872913c8"]]','10e05d52f6f2fcaee767f764e9e3c26eabc8aeebc02055a37fae4a66a75291a8');
INSERT INTO "chain" VALUES('54779771fd81415f95c3a1b6361453e1',3,1.79510065506694078442e+09,'[["failures","fba604295f28c6e694229d65b4837098d8e7217c","fba604295f28c6e694229d65b4837098d8e7217c"]]','7fd509e8372165168518b6104479caa502f98385cc5cf10ecd9b791282f96ebd');
INSERT INTO "chain" VALUES('54779771fd81415f95c3a1b6361453e1',4,1.79510065509286141399e+09,'[["ratings","[\"old\",\"a\",0,\"ann\"]","62ac8177a1d7741b2bfad45a10e702172170c3df"]]','0fa0383dd5e263b146d691841f4dac7b15910260bb53a52005b8486d63f126b8');
CREATE TABLE claims (key TEXT PRIMARY KEY, worker TEXT NOT NULL REFERENCES workers (id)) WITHOUT ROWID;
CREATE TABLE conditions (name TEXT PRIMARY KEY, position INTEGER NOT NULL, body TEXT NOT NULL);
INSERT INTO "conditions" VALUES('old',0,'{"decoding": {"max_tokens": 8, "temperature": 0.0}, "model": "m", "name": "old"}');
CREATE TABLE confidences (
            item TEXT NOT NULL,
            condition TEXT NOT NULL,
            draw INTEGER NOT NULL,
            source TEXT NOT NULL,
            value REAL NOT NULL,
            PRIMARY KEY (condition, item, draw, source)
        ) WITHOUT ROWID;
CREATE TABLE failures (
            key TEXT NOT NULL,
            model TEXT NOT NULL,
            item TEXT NOT NULL,
            condition TEXT NOT NULL,
            draw INTEGER NOT NULL,
            error TEXT NOT NULL,
            given_up INTEGER NOT NULL,
            created_at REAL NOT NULL
        , tokens INTEGER NOT NULL DEFAULT 0, money_usd REAL NOT NULL DEFAULT 0);
INSERT INTO "failures" VALUES('key b','m','b','old',0,'the connection broke',1,1.79510065506694078442e+09,100,0.5);
CREATE TABLE grades (
            item TEXT NOT NULL,
            condition TEXT NOT NULL,
            draw INTEGER NOT NULL,
            scorer TEXT NOT NULL,
            value REAL,
            correct INTEGER,          -- NULL where the value says neither right nor wrong
            main INTEGER NOT NULL,    -- 1 for the one of an answer's scorers that grades it
            PRIMARY KEY (condition, item, draw, scorer)
        ) WITHOUT ROWID;
CREATE TABLE items (id TEXT PRIMARY KEY, position INTEGER NOT NULL, body TEXT NOT NULL);
INSERT INTO "items" VALUES('a',0,'{"id": "a", "prompt": "Question a?", "reference": "yes", "form": "plain"}');
INSERT INTO "items" VALUES('b',1,'{"id": "b", "prompt": "Question b?", "reference": "yes", "form": "plain"}');
INSERT INTO "items" VALUES('c',2,'{"id": "c", "prompt": "Question c?", "reference": "yes", "form": "plain"}');
CREATE TABLE migrations (name TEXT PRIMARY KEY, applied_at REAL NOT NULL);
INSERT INTO "migrations" VALUES('2026-11 first tables',1.79510065492594742776e+09);
INSERT INTO "migrations" VALUES('2026-11 error search',1.7951006549417221546e+09);
INSERT INTO "migrations" VALUES('2026-11 imported grades',1.79510065496019077303e+09);
INSERT INTO "migrations" VALUES('2026-11 several writers',1.79510065496567225449e+09);
INSERT INTO "migrations" VALUES('2026-11 spending journal',1.79510065498021197322e+09);
INSERT INTO "migrations" VALUES('2026-11 hash chain',1.79510065498946523665e+09);
CREATE TABLE notes (name TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE picks (
            paragraph INTEGER PRIMARY KEY,
            step INTEGER NOT NULL,
            position INTEGER NOT NULL,
            design TEXT NOT NULL CHECK (design IN ('start', 'uniform', 'ascent'))
        );
CREATE TABLE ratings (
            item TEXT NOT NULL,
            condition TEXT NOT NULL,
            draw INTEGER NOT NULL,
            rater TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('human', 'judge', 'rule')),
            severity REAL,
            mechanism TEXT NOT NULL,
            reason TEXT NOT NULL,
            started_at REAL,
            ended_at REAL,
            PRIMARY KEY (condition, item, draw, rater)
        ) WITHOUT ROWID;
INSERT INTO "ratings" VALUES('a','old',0,'ann','human',1.5,'','',NULL,NULL);
CREATE TABLE retrievals (
            source INTEGER NOT NULL REFERENCES picks (paragraph),
            target INTEGER NOT NULL REFERENCES picks (paragraph),
            PRIMARY KEY (source, target)
        ) WITHOUT ROWID;
CREATE TABLE sample (place INTEGER PRIMARY KEY, paragraph INTEGER NOT NULL);
CREATE TABLE workers (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,            -- machine and process, for people
            started_at REAL NOT NULL,
            expires_at REAL NOT NULL,      -- not heard of since: dead
            batch INTEGER NOT NULL,        -- the last group of records it committed
            calls INTEGER NOT NULL,        -- spent, or held for what is in flight; of a dead worker, the most it cost
            tokens INTEGER NOT NULL,
            money_usd REAL NOT NULL,
            in_flight INTEGER NOT NULL
        ) WITHOUT ROWID;
INSERT INTO "workers" VALUES('930a5beee2af400990fe04c549d76974','vm:18249',1.79510065501400351527e+09,1.79510065501400446893e+09,2,3,207,1.25,1);
INSERT INTO "workers" VALUES('before','',1.79510065498018765448e+09,1.79510065498018932337e+09,0,0,0,0.0,0);
CREATE INDEX failures_given_up ON failures (condition, item, draw) WHERE given_up;
CREATE INDEX claims_worker ON claims (worker);
CREATE INDEX failures_key ON failures (key) WHERE given_up;
COMMIT;
