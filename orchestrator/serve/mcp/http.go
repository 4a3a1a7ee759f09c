package mcp

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Path is the path at which Handler serves.
const Path = "/mcp"

// idleSession is how long a silent session is kept.
const idleSession = 10 * time.Minute

// Handler serves by streamable HTTP at Path, to clients that have the token, and not to pages of another origin: a
// browser on this machine reaches the port too. The token must not be "".
func Handler(server *sdk.Server, token string) http.Handler {
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{SessionTimeout: idleSession})
	want := sha256.Sum256([]byte(token))
	mux := http.NewServeMux()
	mux.Handle(Path, http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Compare digests, since the time of a comparison must not reveal how much of a guess was right.
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		if !bearer || token == "" || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is needed: the server printed it, or takes it from AGENT_MCP_TOKEN", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})))
	return mux
}
