package tools

import "context"

// createTool makes a file.
var createTool = Tool{
	Name: "create", Alone: true,
	About: "Create a file with its whole content. A file that is there already is changed by edit.",
	Fields: []Field{
		{Name: "path", Kind: "string", About: "path of the new file", Needed: true},
		{Name: "content", Kind: "string", About: "its whole text", Needed: true},
	},
	run: func(_ context.Context, b *Bench, args []byte) (Answer, error) {
		a := arguments[struct{ Path, Content string }](args)
		return b.change(map[string]any{"action": "create", "path": clean(a.Path), "content": a.Content}, "created "+clean(a.Path))
	},
}

// deleteTool removes a file.
var deleteTool = Tool{
	Name: "delete", Alone: true,
	About:  "Delete a file.",
	Fields: []Field{{Name: "path", Kind: "string", About: "path of the file", Needed: true}},
	run: func(_ context.Context, b *Bench, args []byte) (Answer, error) {
		a := arguments[struct{ Path string }](args)
		return b.change(map[string]any{"action": "delete", "path": clean(a.Path)}, "deleted "+clean(a.Path))
	},
}

// renameTool moves a file.
var renameTool = Tool{
	Name: "rename", Alone: true,
	About: "Rename or move a file. What names it elsewhere is yours to change.",
	Fields: []Field{
		{Name: "from", Kind: "string", About: "path of the file", Needed: true},
		{Name: "to", Kind: "string", About: "its new path", Needed: true},
	},
	run: func(_ context.Context, b *Bench, args []byte) (Answer, error) {
		a := arguments[struct{ From, To string }](args)
		return b.change(map[string]any{"action": "rename", "from": clean(a.From), "path": clean(a.To)}, "renamed "+clean(a.From)+" to "+clean(a.To))
	},
}
