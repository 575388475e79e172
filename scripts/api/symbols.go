// Symbols of object files: the functions that an archive exports, and those that the shims of a
// package call.

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// nm runs nm and returns the symbols with one of the given type letters.
func nm(types, file string, flags ...string) (map[string]bool, error) {
	out, err := exec.Command("nm", append(flags, file)...).Output()
	if err != nil {
		return nil, fmt.Errorf("nm %s: %w", file, err)
	}
	symbols := make(map[string]bool)
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) >= 2 && strings.Contains(types, f[len(f)-2]) {
			symbols[f[len(f)-1]] = true
		}
	}
	return symbols, lines.Err()
}

// undefined compiles the C files of a package and returns the functions that they call.
func undefined(libs, dir string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.c"))
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "hyperslab-api-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "gcc"
	}
	all := make(map[string]bool)
	for _, file := range files {
		object := filepath.Join(tmp, filepath.Base(file)+".o")
		cmd := exec.Command(cc, "-std=gnu11", "-c", "-Iinternal/cmem", "-I"+libs, "-o", object, file)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", file, err, out)
		}
		symbols, err := nm("U", object, "-u")
		if err != nil {
			return nil, err
		}
		for s := range symbols {
			all[s] = true
		}
	}
	return all, nil
}

// headersOf finds the header that declares each function: the first file of the patterns in which a
// parenthesis follows the name.
func headersOf(libs string, patterns []string, functions map[string]bool) (map[string]string, error) {
	declared := regexp.MustCompile(`\b(\w+)\s*\(`)
	where, seen := make(map[string]string), make(map[string]bool)
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(libs, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if seen[file] {
				continue
			}
			seen[file] = true
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			for _, m := range declared.FindAllStringSubmatch(withoutComments(string(text)), -1) {
				if functions[m[1]] && where[m[1]] == "" {
					where[m[1]] = filepath.Base(file)
				}
			}
		}
	}
	return where, nil
}
