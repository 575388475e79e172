// Adapter of crosscheck. Replace read, and the name and version in main.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
)

// read returns the decoded bytes of a file, or nil to skip it. An error refuses the file.
func read(path, area, object, dtype, item string) ([]byte, error) {
	return nil, errors.New("call your library here")
}

func main() {
	fmt.Println("hyperslab.crosscheck.adapter/1\tNAME\tVERSION")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		var data []byte
		var err error
		if f[0] == "read" {
			data, err = read(f[1], f[3], f[4], f[5], f[6])
		}
		if err == nil && data != nil {
			err = os.WriteFile(f[2], data, 0o644)
		}
		switch {
		case err != nil:
			fmt.Println("refused\t" + strings.NewReplacer("\t", " ", "\n", " ").Replace(err.Error()))
		case data == nil:
			fmt.Println("skip")
		default:
			fmt.Println("ok")
		}
	}
}
