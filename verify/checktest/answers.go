package checktest

// TyAnswer is the output of ty 0.0.85 for the planted files.
const TyAnswer = `[
  {"check_name": "invalid-argument-type",
   "description": "invalid-argument-type: Argument to function ` + "`double`" + ` is incorrect: Expected ` + "`int`, found `Literal[\\\"21\\\"]`" + `",
   "severity": "major", "fingerprint": "48d482d19e1d7090",
   "location": {"path": "caller.py", "positions": {"begin": {"line": 3, "column": 16}, "end": {"line": 3, "column": 20}}}},
  {"check_name": "unresolved-reference", "description": "unresolved-reference: Name ` + "`pi`" + ` used when not defined",
   "severity": "major", "fingerprint": "96c5e460b06023c9",
   "location": {"path": "undefined.py", "positions": {"begin": {"line": 2, "column": 12}, "end": {"line": 2, "column": 14}}}}
]`

// PyrightAnswer is the output of pyright 1.1.414 for them.
const PyrightAnswer = `{
    "version": "1.1.414",
    "time": "1795304616688",
    "generalDiagnostics": [
        {"file": "/work/caller.py", "severity": "error",
         "message": "Argument of type \"Literal['21']\" cannot be assigned to parameter \"n\" of type \"int\" in function \"double\"",
         "range": {"start": {"line": 2, "character": 15}, "end": {"line": 2, "character": 19}}, "rule": "reportArgumentType"},
        {"file": "/work/undefined.py", "severity": "error", "message": "\"pi\" is not defined",
         "range": {"start": {"line": 1, "character": 11}, "end": {"line": 1, "character": 13}}, "rule": "reportUndefinedVariable"}
    ],
    "summary": {"filesAnalyzed": 3, "errorCount": 2, "warningCount": 0, "informationCount": 0, "timeInSec": 3.549}
}`
