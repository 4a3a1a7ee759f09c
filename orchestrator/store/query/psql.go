package query

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"agent/migrations"
)

// Psql returns the environment variables with which psql, or any other program built on libpq, opens this database as the reader: in
// transactions that only read, with the time limit of Query. The password is not in an argument, where every user of the machine could
// see it.
//
// ok is false if the address is not a URL: its TLS settings would be lost.
//
// Unlike Query, this is a person's own session: the server applies the role, but the session can give it up.
func (r Runner) Psql(ctx context.Context) (env []string, ok bool, err error) {
	config := r.db.Pool.Config().ConnConfig
	u, err := url.Parse(config.ConnString())
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil, false, nil
	}
	role, err := r.Role(ctx)
	if err != nil {
		return nil, false, err
	}
	settings := maps.Clone(config.RuntimeParams)
	settings["default_transaction_read_only"] = "on"
	settings["statement_timeout"] = fmt.Sprint(r.limit.Milliseconds())
	if role == migrations.Reader {
		settings["role"] = role
	}
	// These are in that form already, escaped by whoever wrote them.
	options := []string{settings["options"]}
	delete(settings, "options")
	escape := strings.NewReplacer(`\`, `\\`, " ", `\ `)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		options = append(options, "-c "+name+"="+escape.Replace(settings[name]))
	}
	env = []string{
		"PGHOST=" + config.Host, fmt.Sprintf("PGPORT=%d", config.Port), "PGUSER=" + config.User, "PGPASSWORD=" + config.Password,
		"PGDATABASE=" + config.Database, "PGOPTIONS=" + strings.TrimSpace(strings.Join(options, " ")),
	}
	for _, name := range []string{"sslmode", "sslrootcert", "sslcert", "sslkey"} {
		if value := u.Query().Get(name); value != "" {
			env = append(env, "PG"+strings.ToUpper(name)+"="+value)
		}
	}
	return env, true, nil
}
