// Adapter of crosscheck. Replace read, and the name and version in main.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;

public final class Adapter {
    /** Returns the decoded bytes of a file, or null to skip it. An exception refuses the file. */
    private static byte[] read(String path, String area, String object, String dtype, int item) throws Exception {
        throw new UnsupportedOperationException("call your library here");
    }

    public static void main(String[] args) throws Exception {
        var answers = System.out;
        System.setOut(System.err); // the library must not write between the answers
        answers.println("hyperslab.crosscheck.adapter/1\tNAME\tVERSION");
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] f = line.split("\t", -1);
            String answer = "skip";
            try {
                byte[] data = f[0].equals("read") ? read(f[1], f[3], f[4], f[5], Integer.parseInt(f[6])) : null;
                if (data != null) {
                    Files.write(Path.of(f[2]), data);
                    answer = "ok";
                }
            } catch (Exception e) {
                answer = "refused\t" + e.toString().replaceAll("[\\t\\n]", " ");
            }
            answers.println(answer);
        }
    }
}
