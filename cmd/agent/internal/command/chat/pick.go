package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/agent"
	"agent/orchestrator/agent/tools"
	"agent/orchestrator/chat"
	"agent/orchestrator/llm"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lazyregexp"
)

// mention matches a file that a question names: @shop/tax.py, or lines of it.
var mention = lazyregexp.New(`(?:^|\s)@([^\s@:]+)(?::(\d+)(?:-(\d+))?)?`)

// picked returns a question with the files that it names by @. A mention that names no file stays in the text.
func (t *talk) picked(ctx context.Context, text string) (chat.Question, error) {
	q := chat.Question{Text: text}
	if err := t.chat.Refresh(ctx); err != nil {
		return q, err
	}
	var names []string
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		name := m[1]
		if _, ok := t.chat.Base().Lookup(path.Clean(name)); !ok {
			name = strings.TrimRight(name, ".,;!?)")
		}
		name = path.Clean(name)
		e, ok := t.chat.Base().Lookup(name)
		switch {
		case !ok || e.Kind != workspace.File:
			t.print.note("@" + name + " names no file of the workspace, and is taken as a word")
			continue
		case slices.Contains(names, m[0]):
			continue
		}
		names = append(names, m[0])
		data, err := t.chat.Base().ReadFile(name)
		if err != nil {
			return q, fmt.Errorf("read %s: %w", name, err)
		}
		if p, ok := picture(data); ok {
			if err := seen(t.set); err != nil {
				return q, err
			}
			q.Pictures = append(q.Pictures, p)
			continue
		}
		x, err := t.excerpt(ctx, name, m[2], m[3])
		if err != nil {
			return q, err
		}
		q.Picks = append(q.Picks, x)
	}
	return q, nil
}

// excerpt returns a file as the tools show it: as a whole, some of its lines, or the definitions of a long one.
func (t *talk) excerpt(ctx context.Context, name, from, to string) (agent.Excerpt, error) {
	a := map[string]any{"path": name}
	for key, text := range map[string]string{"from": from, "to": to} {
		if n, err := strconv.Atoi(text); err == nil {
			a[key] = n
		}
	}
	if from != "" && to == "" {
		a["to"] = a["from"]
	}
	arguments, err := json.Marshal(a)
	if err != nil {
		return agent.Excerpt{}, err
	}
	shown, err := t.chat.Read(ctx, string(arguments))
	if err != nil || shown.Failed {
		return agent.Excerpt{}, fault.Usage("name another file", "@%s: %s", name, errText(shown, err))
	}
	return agent.Excerpt{Path: name, Why: strings.TrimPrefix(shown.Head, name+", "), Text: shown.Text}, nil
}

// errText returns the reason why a file cannot be shown.
func errText(a tools.Answer, err error) string {
	if err != nil {
		return err.Error()
	}
	return a.Head + a.Text
}

// maxPicture is a size that every vendor accepts, in bytes.
const maxPicture = 4 << 20

// picture returns data as a picture, and reports whether it is one that models accept.
func picture(data []byte) (llm.Picture, bool) {
	kind := http.DetectContentType(data)
	return llm.Picture{Type: kind, Data: data}, slices.Contains(llm.PictureTypes(), kind) && len(data) <= maxPicture
}

// pictures reads the pictures that flags name, anywhere on the machine.
func (c command) pictures(set config.Settings, names []string) (list []llm.Picture, err error) {
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fault.Usage("name a picture", "--picture: %w", err)
		}
		p, ok := picture(data)
		if !ok {
			return nil, fault.Usage("use PNG, JPEG, GIF or WebP of at most 4 MiB", "%s is not a picture that models accept", name)
		}
		if err := seen(set); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// seen returns an error if no model accepts pictures.
func seen(set config.Settings) error {
	sees, err := wire.Sees(set)
	if err == nil && !sees {
		err = fault.Usage("name a model of Gemini, Anthropic or OpenAI with --model, or omit the picture", "none of the models that may be asked is known to see pictures")
	}
	return err
}
