//go:build forge

package gitea_test

import (
	"os"
	"testing"

	sdk "code.gitea.io/sdk/gitea"

	"agent/orchestrator/forge"
	"agent/orchestrator/forge/forgetest"
	"agent/orchestrator/forge/gitea"
)

// server returns a real Gitea; AGENT_TEST_FORGE names the directory where it is built.
func server(t *testing.T) *forgetest.Gitea {
	t.Helper()
	dir := os.Getenv("AGENT_TEST_FORGE")
	if dir == "" {
		t.Fatal("AGENT_TEST_FORGE names no directory: run it by `make test-forge`")
	}
	if err := forgetest.BuildGitea(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return forgetest.StartGitea(t, dir)
}

func TestContractOnARealServer(t *testing.T) {
	g := server(t)
	g.Repository(t, "till", map[string]string{"README": "x\n"}, false)
	f, err := gitea.New(forge.Address{Base: g.URL, Owner: "bot", Name: "till"}, g.Token)
	if err != nil {
		t.Fatal(err)
	}
	forgetest.Contract(t, forgetest.Subject{
		Forge: f,
		Branch: func(t testing.TB, name string, files map[string]string) string {
			return g.Commit(t, "till", name, "c", files)
		},
		Say: func(t testing.TB, n int, path string, line int, text string) {
			_, _, err := g.Ada.CreatePullReview("bot", "till", int64(n), sdk.CreatePullReviewOptions{
				State: sdk.ReviewStateComment, Comments: []sdk.CreatePullReviewComment{{Path: path, Body: text, NewLineNum: int64(line)}},
			})
			if err != nil {
				t.Fatal(err)
			}
		},
	})
}
