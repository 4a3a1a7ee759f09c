package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// maxRedirects is how many times an answer may redirect a client.
const maxRedirects = 5

// Client returns an HTTP client that reaches only the hosts of the list, even after a redirect. It keeps no cookies, takes no
// proxy from the environment, and reaches a private address only if that is itself on the list. An answer may take limit.
func (l List) Client(limit time.Duration) *http.Client {
	dialer := net.Dialer{Timeout: limit, Control: l.control}
	return &http.Client{
		Timeout: limit,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				host, port, err := net.SplitHostPort(address)
				n, wrong := strconv.ParseUint(port, 10, 16)
				if err = errors.Join(err, wrong); err != nil {
					return nil, err
				}
				if p := (Place{canonical(host), uint16(n)}); !l.Covers(p) {
					return nil, fmt.Errorf("%s is not on the list of hosts that the user allows", p)
				}
				return dialer.DialContext(ctx, network, address)
			},
		},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("it is redirected too often")
			}
			return nil
		},
	}
}
