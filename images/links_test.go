package images

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinksToWhatIsInstalledNeverLeaveTheWorkspace(t *testing.T) {
	t.Parallel()
	tree := linkTree{
		memTree: memTree{{path: "a", mode: fs.ModeDir | 0o755}, {path: "a/node_modules", content: []byte("mine")}, {path: "f", content: []byte("x")}},
		links:   map[string]string{"web": "/agent"},
	}
	links := map[string]string{"node_modules": "/1", "a/node_modules": "/2", "web/node_modules": "/3", "f/node_modules": "/4", "new/sub/node_modules": "/5"}
	var got []string
	laid := withLinks(tree, links)
	for _, f := range laid.Files() {
		got = append(got, strings.TrimSuffix(f.Path+" "+f.Target, " "))
	}
	if diff := cmp.Diff([]string{"a", "a/node_modules", "f", "new", "new/sub", "new/sub/node_modules /5", "node_modules /1", "web /agent"}, got); diff != "" {
		t.Error(diff)
	}
	if laid.Digest() != tree.Digest() {
		t.Error("the links are part of the workspace")
	}
}
