package doctor

import (
	"io/fs"

	"golang.org/x/sys/windows"
)

func freeBytes(path string) (int64, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(p, &free, nil, nil)
	return int64(free), err
}

// Windows gives a user's profile to that user alone; modes say nothing.
func ours(fs.FileInfo) bool { return true }

func othersMayRead(fs.FileInfo) bool { return false }
