package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"agent/sandbox/workspace/git"
)

// A Person is the author of a commit.
type Person struct{ Name, Email string }

// A Change is one file of a new commit.
type Change struct {
	Path string
	// Content is what the file holds, nil to delete it.
	Content []byte
	Mode    fs.FileMode
}

// A NewCommit describes a commit. Equal values give the same commit.
type NewCommit struct {
	Parent  string
	Message string
	By      Person
	At      time.Time
	Changes []Change
	// Like, unless "", is a commit with exactly the files that this one should have; then Changes are not used.
	Like string
}

// Make makes a commit through git's own stream format, without a work tree or an index; it touches no reference of the
// remote.
func (m *Mirror) Make(ctx context.Context, c NewCommit) (string, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	const ref = "refs/made/last"
	var in bytes.Buffer
	who := fmt.Sprintf("%s <%s> %d +0000", plainPerson(c.By.Name), plainPerson(c.By.Email), c.At.Unix())
	fmt.Fprintf(&in, "feature done\nreset %s\ncommit %s\nauthor %s\ncommitter %s\n", ref, ref, who, who)
	data(&in, []byte(c.Message))
	fmt.Fprintf(&in, "from %s\n", c.Parent)
	if c.Like != "" {
		tree, err := m.git(ctx, nil, "rev-parse", "--verify", "--end-of-options", c.Like+"^{tree}")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&in, "M 040000 %s \"\"\n", strings.TrimSpace(string(tree)))
	}
	for _, ch := range c.Changes {
		if !cleanPath(ch.Path) {
			return "", fmt.Errorf("%q is not a place for a file", ch.Path)
		}
		if ch.Content == nil {
			fmt.Fprintf(&in, "D %s\n", quoted(ch.Path))
			continue
		}
		mode := "100644"
		if ch.Mode&0o111 != 0 {
			mode = "100755"
		}
		fmt.Fprintf(&in, "M %s inline %s\n", mode, quoted(ch.Path))
		data(&in, ch.Content)
	}
	in.WriteString("\ndone\n")
	if _, err := m.git(ctx, in.Bytes(), "fast-import", "--quiet", "--done", "--force"); err != nil {
		return "", fmt.Errorf("make a commit: %w", err)
	}
	commit, err := m.Commit(ctx, ref)
	if err != nil {
		return "", err
	}
	// A reference of its own keeps the commit: the next one takes over the other reference.
	_, err = m.git(ctx, nil, "update-ref", "refs/made/"+commit, commit)
	return commit, err
}

// data writes a piece of content in the form of git's stream.
func data(in *bytes.Buffer, content []byte) {
	fmt.Fprintf(in, "data %d\n", len(content))
	in.Write(content)
	in.WriteByte('\n')
}

// quoted returns a path in the form of git's stream.
func quoted(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(name) + `"`
}

// plainPerson returns a name without the characters that end it in a commit.
func plainPerson(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || r < ' ' {
			return -1
		}
		return r
	}, text))
}

// Same reports whether two commits hold the same files.
func (m *Mirror) Same(ctx context.Context, one, other string) (bool, error) {
	_, err := m.git(ctx, nil, "diff-tree", "--quiet", "-r", one, other)
	var exit *git.ExitError
	if errors.As(err, &exit) && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}
