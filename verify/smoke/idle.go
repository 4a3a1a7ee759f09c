package smoke

import (
	"path"
	"slices"

	"agent/verify/check"
)

// The rules for a program that ends well and does less than before. A person may have intended that, as with a server that
// becomes a command, so these rules hold a patch and do not refuse it.
const (
	RuleIdle  = "smoke-idle"  // it kept running or did its work, and does less now
	RuleEnded = "smoke-ended" // it listened as long as it was watched, and now ends
)

// soon is a fraction of the watch, one quarter: where one program ran on, another that ends within it ends at once.
const soon = 4

// Doubtful reports whether a program that ends well may do less than before the patch, so that the lines that it executes
// must decide; see check.Ending.Does.
func Doubtful(base, cand check.Outcome) bool {
	if base.Ending == nil || cand.Ending == nil || cand.Ending.Does != nil {
		return false
	}
	_, doubt := less(*base.Ending, *cand.Ending)
	return doubt
}

// less says how a program that now ends well may do less than before, "" if it does not. doubt is false if that is certain.
func less(then, now check.Ending) (how string, doubt bool) {
	switch {
	case then.Crashed() || now.Running || now.Crashed():
		return "", false
	case then.Running && len(then.Ports) == 0 && !then.Busy && now.Wall <= then.Wall/soon:
		return "kept running before the patch; now it ends at once with status 0", false
	case then.Running && len(then.Ports) == 0 && now.Wrote == 0:
		return "worked for as long as it was watched before the patch; now it ends with status 0 and no output", true
	case !then.Running && then.Wrote > 0 && now.Wrote == 0:
		return "printed something before the patch; now it ends with status 0 and no output", true
	// Slightly less output may be intended, unless less work is done too.
	case !then.Running && now.Wrote < then.Wrote/2:
		return "printed more before the patch; now it ends with status 0 after part of it", true
	}
	return "", false
}

// idle says what a program that ends well no longer does, once the lines that it executes are known.
func idle(then *check.Ending, now check.Ending, d check.Diff) (check.Finding, bool) {
	// If the patch removed the program, another one says nothing about what it did.
	if then == nil || !slices.Contains([]string{program(now), ""}, d.NewID(program(*then))) {
		return check.Finding{}, false
	}
	how, doubt := less(*then, now)
	if how == "" {
		return check.Finding{}, false
	}
	if doubt {
		does := now.Does
		measured := does != nil && does.Then > 0
		still := !measured // for a program that prints something
		if measured {
			still = 2*does.Now >= does.Then
		}
		if now.Wrote == 0 {
			// A program that stops short of what it did before still gets as far as that stop.
			still = measured && 2*does.Kept >= does.Then && does.Lost == 0
		}
		if still {
			return check.Finding{}, false
		}
		switch {
		case measured && 2*does.Kept >= does.Then:
			how += ", and stops short of what it did"
		case measured:
			how += ", and does little of what it did"
		}
	}
	f := check.Finding{Rule: RuleIdle, Message: "the program " + how}
	if p := program(now); p != "" {
		f.File, f.Message = p, path.Base(p)+" "+how
	}
	return f, true
}

// program returns the file of the workspace with which a program was started, "" for none.
func program(e check.Ending) string {
	i := slices.IndexFunc(e.Command, func(arg string) bool { return path.Ext(arg) != "" && !path.IsAbs(arg) })
	if i < 0 {
		return ""
	}
	return path.Clean(e.Command[i])
}
