package crew

import "slices"

// cycle returns tasks that depend on each other in a circle, or nil.
func (p *Plan) cycle() []int {
	const (
		onPath = 1
		clear  = 2
	)
	marks, at := map[int]int{}, []int{}
	var visit func(n int) []int
	visit = func(n int) []int {
		switch marks[n] {
		case clear:
			return nil
		case onPath:
			return slices.Clone(at[slices.Index(at, n):])
		}
		marks[n], at = onPath, append(at, n)
		if t := p.Task(n); t != nil {
			for _, d := range t.DependsOn {
				if found := visit(d); found != nil {
					return found
				}
			}
		}
		marks[n], at = clear, at[:len(at)-1]
		return nil
	}
	for _, t := range p.Tasks {
		if found := visit(t.N); found != nil {
			return found
		}
	}
	return nil
}

// before lists the tasks on which a task depends, directly or not.
func (p *Plan) before(n int) (all []int) {
	t := p.Task(n)
	if t == nil {
		return nil
	}
	for next := slices.Clone(t.DependsOn); len(next) > 0; next = next[1:] {
		if slices.Contains(all, next[0]) {
			continue
		}
		all = append(all, next[0])
		if d := p.Task(next[0]); d != nil {
			next = append(next, d.DependsOn...)
		}
	}
	return all
}

// After lists the tasks that depend on task n, directly or not, in the order of the plan.
func (p *Plan) After(n int) (all []int) {
	for _, t := range p.Tasks {
		if slices.Contains(p.before(t.N), n) {
			all = append(all, t.N)
		}
	}
	return all
}

// Ready lists the tasks that may begin, in the order of the plan: their dependencies are done, and they touch no file
// of a task that is running or precedes them in the list.
func (p *Plan) Ready() (ready []int) {
	busy := map[string]bool{}
	claim := func(t Task) {
		for _, f := range t.Touches() {
			busy[f] = true
		}
	}
	for _, t := range p.Tasks {
		if t.State == Running {
			claim(t)
		}
	}
	for _, t := range p.Tasks {
		free := func(f string) bool { return !busy[f] }
		if t.State == Waiting && p.done(t.DependsOn) && !slices.ContainsFunc(t.Touches(), func(f string) bool { return !free(f) }) {
			ready = append(ready, t.N)
			claim(t)
		}
	}
	return ready
}

// done reports whether all these tasks are done.
func (p *Plan) done(list []int) bool {
	return !slices.ContainsFunc(list, func(n int) bool {
		t := p.Task(n)
		return t == nil || t.State != Done
	})
}

// Block marks the tasks that wait for task n, which was not done, and lists them.
func (p *Plan) Block(n int) (blocked []int) {
	for _, m := range p.After(n) {
		if t := p.Task(m); t.State == Waiting {
			t.State, t.Why = Blocked, "task "+Numbers([]int{n})+" was not done"
			blocked = append(blocked, m)
		}
	}
	return blocked
}

// Reopen lets a task, and the tasks that it blocked, be tried again.
func (p *Plan) Reopen(n int) {
	t := p.Task(n)
	if t == nil || t.State == Done || t.State == Replaced {
		return
	}
	t.State, t.Why = Waiting, ""
	for _, m := range p.After(n) {
		if d := p.Task(m); d.State == Blocked {
			d.State, d.Why = Waiting, ""
		}
	}
}

// Replace puts the tasks of a new plan in place of a task that was not done and the tasks that depend on it. The new
// tasks get new numbers. Tasks of the old plan on which they depend must be done or still go ahead.
func (p *Plan) Replace(failed int, by []Task) {
	gone := append([]int{failed}, p.After(failed)...)
	for _, n := range gone {
		if t := p.Task(n); t.State != Done {
			t.State = Replaced
		}
	}
	next := 0
	for _, t := range p.Tasks {
		next = max(next, t.N)
	}
	renumbered := map[int]int{}
	for i, t := range by {
		renumbered[t.N] = next + 1 + i
	}
	for _, t := range by {
		t.N, t.State = renumbered[t.N], Waiting
		for i, d := range t.DependsOn {
			if n, own := renumbered[d]; own {
				t.DependsOn[i] = n
			}
		}
		p.Tasks = append(p.Tasks, t)
	}
}

// Landed lists the tasks that are done, in the order in which they reached the integration tree.
func (p *Plan) Landed() (list []Task) {
	for _, t := range p.Tasks {
		if t.Landed > 0 {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b Task) int { return a.Landed - b.Landed })
	return list
}

// Left counts the tasks that are neither done nor replaced.
func (p *Plan) Left() (n int) {
	for _, t := range p.Tasks {
		if t.State != Done && t.State != Replaced {
			n++
		}
	}
	return n
}
