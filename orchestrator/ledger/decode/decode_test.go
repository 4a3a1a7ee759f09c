package decode_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agent/orchestrator/ledger"
	"agent/orchestrator/ledger/decode"
)

const sound = `{"path":"a.py","language":"python","lines":3,"definitions":[{"name":"f","kind":"function","parent":"","line":1,"end":2,"signature":"()","digest":"00","exported":true}],"references":[{"name":"g","on":"","lines":[1,2]}],"imports":[{"module":"m","name":"g","alias":"g","line":1,"export":false}]}`

func TestAnswerOfTheScannerIsNotTrusted(t *testing.T) {
	if files, err := decode.Files(strings.NewReader(sound+"\n"), []string{"a.py"}); err != nil || len(files) != 1 || files[0].Definitions[0].Name != "f" {
		t.Fatalf("%+v %v", files, err)
	}
	for what, swap := range map[string][2]string{
		"another file":          {`"a.py"`, `"b.py"`},
		"a path outside":        {`"a.py"`, `"../a.py"`},
		"unknown field":         {`"lines":3`, `"lines":3,"owner":"x"`},
		"unknown language":      {`"python"`, `"cobol"`},
		"unknown kind":          {`"function"`, `"gadget"`},
		"no name":               {`"name":"f"`, `"name":""`},
		"a long name":           {`"name":"f"`, `"name":"` + strings.Repeat("f", 2000) + `"`},
		"a control character":   {`"signature":"()"`, `"signature":"\u001b[2J"`},
		"text turned around":    {`"name":"g"`, `"name":"\u202eg"`},
		"a newline in a module": {`"module":"m"`, `"module":"m\n"`},
		"line 0":                {`"line":1,"end"`, `"line":0,"end"`},
		"end before start":      {`"end":2`, `"end":0`},
		"lines out of order":    {`[1,2]`, `[2,1]`},
		"a negative line":       {`[1,2]`, `[-1,2]`},
		"no lines":              {`[1,2]`, `[]`},
		"a number for a name":   {`"name":"f"`, `"name":1`},
		"negative size":         {`"lines":3`, `"lines":-3`},
		"a digest that is none": {`"lines":3`, `"lines":3,"sha256":"x/../y"`},
		"an unfinished line":    {`}]}`, `}]`},
		"more on a line":        {`"export":false}]}`, `"export":false}]} {}`},
		"not UTF-8":             {`"module":"m"`, "\"module\":\"\xff\""},
		"said twice":            {`"export":false}]}`, `"export":false}]}` + "\n" + sound},
		"too many uses":         {`[1,2]`, "[" + strings.Repeat("1,", 200) + "1]"},
	} {
		text := strings.Replace(sound, swap[0], swap[1], 1)
		if text == sound {
			t.Fatalf("%s: nothing was swapped", what)
		}
		if files, err := decode.Files(strings.NewReader(text), []string{"a.py"}); err == nil {
			t.Errorf("%s was accepted: %+v", what, files)
		}
	}
}

func TestFileWithoutAnswerHasAProblem(t *testing.T) {
	files, err := decode.Files(strings.NewReader(sound+"\n"), []string{"c.py", "a.py", "b.py"})
	if err != nil || len(files) != 3 || files[0].Problem != "" || files[1].Path != "b.py" || files[1].Problem == "" || files[2].Problem == "" {
		t.Errorf("%+v %v", files, err)
	}
}

// FuzzDecode checks that everything accepted can be stored, queried and changed.
func FuzzDecode(f *testing.F) {
	f.Add(sound)
	f.Add(`{"path":"a.py","problem":"absent"}`)
	f.Add(sound + "\n" + strings.Replace(sound, "a.py", "m.py", 1))
	f.Fuzz(func(t *testing.T, text string) {
		asked := []string{"a.py", "m.py", "x/index.ts"}
		files, err := decode.Files(strings.NewReader(text), asked)
		if err != nil {
			return
		}
		if len(files) != len(asked) {
			t.Fatalf("%d files of %d", len(files), len(asked))
		}
		l := ledger.New(files)
		var out strings.Builder
		if err := l.Symbols(&out, ledger.Summaries{}); err != nil || !json.Valid([]byte(out.String())) {
			t.Fatalf("symbols: %v", err)
		}
		if err := l.Analysis(&out, ledger.Summaries{}); err != nil {
			t.Fatal(err)
		}
		for _, p := range asked {
			l.Neighbours(p, 1000)
		}
		for _, r := range l.Update(nil, asked) {
			t.Fatalf("a ripple in an empty workspace: %+v", r)
		}
	})
}
