package bot

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"agent/orchestrator/forge"
	"agent/orchestrator/pull"
)

// HookPath is the path to which a forge sends its events.
const HookPath = "/hooks"

// maxBody bounds one message of a forge, in bytes.
const maxBody = 1 << 20

// A Receiver receives what a forge sends.
type Receiver struct {
	Kind forge.Kind
	Host string
	// Secret is the secret with which the forge signs, or which GitLab shows; "" accepts nothing.
	Secret string
	// Repositories are the served repositories.
	Repositories []string
	// Me is the agent's account: its own comments ask for nothing, and an assignment to it asks for work.
	Me string
	// Label is the label that asks for work, "" for none.
	Label string
	Queue Queue
	// Wake is called after a request.
	Wake func()
}

// errUnsigned means that the sender of a message is unknown.
var errUnsigned = errors.New("the signature does not match the secret")

// ServeHTTP receives one message. It reads the message only after it has checked the signature.
func (h *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "a forge sends its webhooks here", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, fmt.Sprintf("more than %d bytes", maxBody), http.StatusRequestEntityTooLarge)
		return
	}
	if err := h.verify(r.Header, body); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	ask, why := h.read(r.Header, body)
	if why != "" { // a forge sends more than is wanted
		fmt.Fprintln(w, "ignored: "+why)
		return
	}
	fresh, err := h.Queue.Ask(r.Context(), ask)
	switch {
	case err != nil: // the forge sends it again, or a person does
		http.Error(w, "it could not be recorded", http.StatusServiceUnavailable)
	case !fresh:
		fmt.Fprintln(w, "ignored: it was already asked for")
	default:
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintln(w, "recorded")
		h.Wake()
	}
}

// verify checks that the forge sent a body.
func (h *Receiver) verify(header http.Header, body []byte) error {
	if h.Secret == "" {
		return errUnsigned
	}
	if h.Kind == forge.GitLab {
		// Compare digests, since the time of a comparison must not reveal how much of a guess was right, nor how long the secret is.
		given, want := sha256.Sum256([]byte(header.Get("X-Gitlab-Token"))), sha256.Sum256([]byte(h.Secret))
		if !hmac.Equal(given[:], want[:]) {
			return errUnsigned
		}
		return nil
	}
	text := header.Get("X-Gitea-Signature")
	if h.Kind == forge.GitHub {
		var ok bool
		if text, ok = strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256="); !ok {
			return errUnsigned
		}
	}
	given, err := hex.DecodeString(text)
	mac := hmac.New(sha256.New, []byte(h.Secret))
	mac.Write(body)
	if err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		return errUnsigned
	}
	return nil
}

// A message covers what all forges send, under the field names of all of them: each forge fills those that it has.
type message struct {
	Action     string `json:"action"`
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
	Sender  account `json:"sender"`
	Comment *struct {
		ID   int64   `json:"id"`
		Body string  `json:"body"`
		User account `json:"user"`
	} `json:"comment"`
	Issue *subject `json:"issue"`
	Pull  *subject `json:"pull_request"`
	// IsPull is Gitea's sign that an issue is a pull request.
	IsPull   bool     `json:"is_pull"`
	Label    *named   `json:"label"`
	Assignee *account `json:"assignee"`
}

type account struct {
	Login string `json:"login"`
}

type named struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

type subject struct {
	Number    int             `json:"number"`
	State     string          `json:"state"`
	Labels    []named         `json:"labels"`
	Assignees []account       `json:"assignees"`
	Pull      json.RawMessage `json:"pull_request"`
}

// read finds what a message asks for; why says why it asks for nothing.
func (h *Receiver) read(header http.Header, body []byte) (a Ask, why string) {
	a, asked, err := Ask{}, "", error(nil)
	if h.Kind == forge.GitLab {
		a, asked, err = h.readGitLab(header, body)
	} else {
		a, asked, err = h.readMessage(header, body)
	}
	switch {
	case err != nil:
		return a, "it is not JSON of this forge"
	case asked == "":
		return a, "it asks for nothing"
	case !slices.ContainsFunc(h.Repositories, func(r string) bool { return strings.EqualFold(r, a.Repository) }):
		return a, "that repository is not served"
	case a.By == "" || strings.EqualFold(a.By, h.Me):
		return a, "the agent does not ask itself"
	case a.Number < 1:
		return a, "it is not about an issue or a pull request"
	}
	// Use the name configured here: what is recorded and claimed has one spelling.
	i := slices.IndexFunc(h.Repositories, func(r string) bool { return strings.EqualFold(r, a.Repository) })
	a.Repository = h.Repositories[i]
	a.Host, a.Word = h.Host, asked
	// Identify it by signed content, not by the delivery, whose number anybody can invent.
	if kind := map[bool]string{true: "pull request", false: "issue"}[a.Pull]; a.Event == label || a.Event == assignment {
		a.Event += fmt.Sprintf(" of %s %d", kind, a.Number)
	}
	return a, ""
}

// readMessage reads a message of GitHub, Gitea or Forgejo.
func (h *Receiver) readMessage(header http.Header, body []byte) (a Ask, asked string, err error) {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return a, "", err
	}
	event := cmp.Or(header.Get("X-Gitea-Event"), header.Get("X-Github-Event"))
	a = Ask{Repository: m.Repository.FullName, Delivery: cmp.Or(header.Get("X-Gitea-Delivery"), header.Get("X-Github-Delivery")), By: m.Sender.Login}
	about := m.Issue
	if about == nil {
		about = m.Pull
	}
	if about == nil {
		return a, "", nil
	}
	a.Number, a.Pull = about.Number, m.IsPull || m.Issue == nil || len(about.Pull) > 0 && string(about.Pull) != "null"
	switch {
	case m.Comment != nil:
		// Only the comment's author asks, and not somebody who edits the text of others.
		if m.Action == "created" && m.Comment.User.Login == m.Sender.Login {
			asked, _ = pull.Command(m.Comment.Body)
		}
		a.Event = fmt.Sprintf("comment %d", m.Comment.ID)
		if event == "pull_request_review_comment" { // GitHub numbers these separately
			a.Event = "line " + a.Event
		}
	case about.State != "open":
	case m.Action == "labeled" && m.Label != nil && h.isLabel(*m.Label), m.Action == "label_updated" && slices.ContainsFunc(about.Labels, h.isLabel):
		a.Event, asked = label, wanted(a.Pull)
	case m.Action == "assigned" && (m.Assignee != nil && m.Assignee.Login == h.Me || slices.ContainsFunc(about.Assignees, func(u account) bool { return u.Login == h.Me })):
		a.Event, asked = assignment, wanted(a.Pull)
	}
	return a, asked, nil
}

// isLabel reports whether a label asks for work.
func (h *Receiver) isLabel(l named) bool { return h.Label != "" && cmp.Or(l.Name, l.Title) == h.Label }

// The names of events that are not comments. Each asks once for each issue or pull request: forges list all labels when
// one of them changes.
const (
	label      = "label"
	assignment = "assignment"
)

// wanted returns what a label, or an assignment to the agent, asks for.
func wanted(isPull bool) string {
	if isPull {
		return string(Review)
	}
	return string(Run)
}

// readGitLab reads a message of GitLab.
func (h *Receiver) readGitLab(header http.Header, body []byte) (a Ask, asked string, err error) {
	type user struct {
		Username string `json:"username"`
	}
	type number struct {
		IID int `json:"iid"`
	}
	var m struct {
		Kind    string `json:"object_kind"`
		User    user   `json:"user"`
		Project struct {
			Path string `json:"path_with_namespace"`
		} `json:"project"`
		Object struct {
			ID     int64  `json:"id"`
			IID    int    `json:"iid"`
			Note   string `json:"note"`
			About  string `json:"noteable_type"`
			Action string `json:"action"`
			State  string `json:"state"`
			System bool   `json:"system"`
		} `json:"object_attributes"`
		Merge   *number `json:"merge_request"`
		Issue   *number `json:"issue"`
		Changes struct {
			Labels struct {
				Previous, Current []named
			} `json:"labels"`
			Assignees struct {
				Previous, Current []user
			} `json:"assignees"`
		} `json:"changes"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return a, "", err
	}
	o := m.Object
	a = Ask{Repository: m.Project.Path, Delivery: cmp.Or(header.Get("Idempotency-Key"), header.Get("X-Gitlab-Event-Uuid")), By: m.User.Username}
	mine := func(u user) bool { return u.Username == h.Me }
	switch m.Kind {
	case "note":
		if o.About == "MergeRequest" && m.Merge != nil {
			a.Number, a.Pull = m.Merge.IID, true
		} else if o.About == "Issue" && m.Issue != nil {
			a.Number = m.Issue.IID
		}
		a.Event = fmt.Sprintf("comment %d", o.ID)
		if !o.System && (o.Action == "" || o.Action == "create") {
			asked, _ = pull.Command(o.Note)
		}
	case "issue", "merge_request":
		a.Number, a.Pull = o.IID, m.Kind == "merge_request"
		c := m.Changes
		switch {
		case o.State != "opened":
		case slices.ContainsFunc(c.Labels.Current, h.isLabel) && !slices.ContainsFunc(c.Labels.Previous, h.isLabel):
			a.Event, asked = label, wanted(a.Pull)
		case slices.ContainsFunc(c.Assignees.Current, mine) && !slices.ContainsFunc(c.Assignees.Previous, mine):
			a.Event, asked = assignment, wanted(a.Pull)
		}
	}
	return a, asked, nil
}
