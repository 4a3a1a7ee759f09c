package node

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/node/listing"
	"agent/verify/node/testreport"
	"agent/verify/witness"
)

// newReading returns the reading for a report of a package; set holds the witnesses among its tests.
func newReading(root string, faults []byte, set *witness.Set) testreport.Reading {
	r := testreport.Reading{Ours: set.Titles, Place: func(file string) string {
		if !path.IsAbs(file) {
			file = path.Join(check.Work, root, file)
		}
		rel := check.Relative(file, check.Work)
		if rel == root {
			rel = ""
		}
		return cmp.Or(rel, path.Join(root, "package.json"))
	}}
	var f vitestFaults
	if json.Unmarshal(faults, &f) == nil {
		r.Faults = f.Files
	}
	return r
}

// jestRunner matches the settings that give jest another runner of files or of tests than its own.
var jestRunner = lazyregexp.New(`\b(?:r|testR)unner["']?\s*:`)

// jestUnlike reports whether a use has such a runner: what that makes of a failure is unknown here.
func jestUnlike(v check.View, u packageUse) bool {
	return slices.ContainsFunc(append([]string{"package.json"}, listing.Files(JestName)...), func(name string) bool {
		return jestRunner.MatchString(v.Text(path.Join(u.root, name)))
	})
}

// jestAlone requires that jest has no complaint about snapshots either.
func jestAlone(res guest.Result, report string) bool {
	var said struct {
		Snapshot struct {
			Failure bool `json:"failure"`
		} `json:"snapshot"`
	}
	return json.Unmarshal(res.Files[report], &said) == nil && !said.Snapshot.Failure
}

// These are the reports of the planted packages: see packageRunner.
const (
	plantedJest = `{"numTotalTests": 2, "numFailedTests": 1, "testResults": [{"name": "/work/planted.test.js", "status": "failed", "assertionResults": [
{"ancestorTitles": ["suite"], "title": "true", "status": "passed"}, {"ancestorTitles": ["suite"], "title": "false", "status": "failed"}]}]}
`
	plantedMocha = `{"stats": {"passes": 1, "pending": 0, "failures": 1}, "passes": [{"title": "true", "fullTitle": "suite true", "file": "/work/planted.test.js"}],
"pending": [], "failures": [{"title": "false", "fullTitle": "suite false", "file": "/work/planted.test.js", "err": {"message": "planted"}}]}
`
)
