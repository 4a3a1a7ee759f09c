package testreport

import "testing"

func TestATitleThatIsNoTextIsTold(t *testing.T) {
	t.Parallel()
	results, err := Jest([]byte(`{"numTotalTests":2,"numFailedTests":0,"testResults":[{"name":"/work/a.test.js","status":"passed","message":"",
"assertionResults":[{"ancestorTitles":[1],"title":["a", "b"],"status":"passed"},{"ancestorTitles":[],"title":"c","status":"passed"}]}]}`), Reading{Place: func(string) string { return "a.test.js" }})
	if err != nil || len(results) != 2 || results[0].ID != `a.test.js::1 > ["a", "b"]` || results[1].ID != "a.test.js::c" {
		t.Errorf("%+v, %v", results, err)
	}
}
