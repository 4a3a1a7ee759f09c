package forge

// Git is the runner of git, for questions that no exported function asks.
var Git = read
