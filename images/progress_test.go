package images

import (
	"testing"
	"time"

	bk "github.com/moby/buildkit/client"
)

func TestAShortBuildShowsNothing(t *testing.T) {
	t.Parallel()
	ch := make(chan *bk.SolveStatus, 2)
	ch <- &bk.SolveStatus{}
	ch <- &bk.SolveStatus{}
	close(ch)
	if held, going := hold(ch, time.Hour); going || held != nil {
		t.Errorf("held %d, going %v", len(held), going)
	}
}

func TestALongBuildShowsEverythingFromItsBeginning(t *testing.T) {
	t.Parallel()
	ch := make(chan *bk.SolveStatus, 1)
	ch <- &bk.SolveStatus{Vertexes: []*bk.Vertex{{Name: "first"}}}
	held, going := hold(ch, 50*time.Millisecond)
	if !going || len(held) != 1 || held[0].Vertexes[0].Name != "first" {
		t.Errorf("held %v, going %v", held, going)
	}
}
