package edit_test

import (
	"errors"
	"fmt"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

func ExampleApply() {
	files := memory{text: map[string]string{"shop/stock.py": "def level(items):\n    total = 0\n    return total\n"}}
	response := `<THOUGHT>The sum was missing.</THOUGHT>
<EDIT file="shop/stock.py">
<SEARCH>
total = 0
return total
</SEARCH>
<REPLACE>
total = sum(items)
return total
</REPLACE>
</EDIT>`
	cs, applied, err := edit.Apply(files, []byte(response), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(parse.Thought([]byte(response)))
	fmt.Printf("%+v\n", applied[0])
	fmt.Printf("%s", cs.Changes[0].After)
	// Output:
	// The sum was missing.
	// {Block:1 Path:shop/stock.py Strategy:indentation Line:2 Kept:[]}
	// def level(items):
	//     total = sum(items)
	//     return total
}

func ExampleRefusal() {
	files := memory{text: map[string]string{"shop/stock.py": "def level(items):\n    total = 0\n    return total\n"}}
	_, _, err := edit.Apply(files, []byte(`<EDIT file="shop/stock.py">
<SEARCH>
    total = 1
    return total
</SEARCH>
<REPLACE>
    return 0
</REPLACE>
</EDIT>`), "")
	var refusal *problem.Refusal
	if errors.As(err, &refusal) {
		fmt.Println(refusal)
	}
	// Output:
	// nothing was applied
	// block 1, shop/stock.py: stale: SEARCH text not found in the file; nearest lines 2 to 3
	//      2 |     total = 0
	//      3 |     return total
	//   your line 1:     total = 1
	//        line 2:     total = 0
	//                yours has `1`, the file `0`
	//   → copy lines 2 to 3 exactly into SEARCH
}
