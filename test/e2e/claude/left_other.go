//go:build !linux

package claude

// Left cannot be told on this system.
func (c *Client) Left() []string { return nil }
