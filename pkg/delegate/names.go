package delegate

// Policies are the names that delegate.policy takes.
func Policies() []string { return policyNames() }
