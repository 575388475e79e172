// The Java peers: an adapter of crosscheck. The first argument is the name of the peer.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Array;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

public final class Adapter {
    /** The interface of the library cannot express the case. */
    private static final class Skip extends Exception {}

    private static void flatten(Object v, List<Object> into) {
        if (v != null && v.getClass().isArray()) {
            for (int i = 0; i < Array.getLength(v); i++) flatten(Array.get(v, i), into);
        } else if (v != null) {
            into.add(v);
        }
    }

    private static Object jhdf(String path, String object) throws Exception {
        String[] parts = object.split("@", 2);
        try (io.jhdf.HdfFile f = new io.jhdf.HdfFile(Path.of(path))) {
            if (parts.length == 2) return f.getByPath(parts[0]).getAttribute(parts[1]).getData();
            return f.getDatasetByPath(object).getData();
        }
    }

    private static Object netcdf(String path, String object) throws Exception {
        if (object.contains("@")) throw new Skip();
        ucar.nc2.NetcdfFile f = ucar.nc2.NetcdfFile.open(path);
        try {
            ucar.nc2.Variable v = f.findVariable(ucar.nc2.NetcdfFile.makeValidPathName(object.substring(1)));
            if (v == null) throw new IllegalStateException("no variable " + object);
            ucar.ma2.Array a = v.read();
            if (a instanceof ucar.ma2.ArrayChar) { // fixed strings become an additional dimension of characters
                byte[] b = new byte[(int) a.getSize()];
                for (int i = 0; i < b.length; i++) b[i] = (byte) a.getChar(i);
                return ByteBuffer.wrap(b);
            }
            Object[] all = new Object[(int) a.getSize()];
            for (int i = 0; i < all.length; i++) all[i] = a.getObject(i);
            return all;
        } finally {
            f.close();
        }
    }

    private static int half(float v) { // exact for the values of the vectors, otherwise a difference
        int b = Float.floatToIntBits(v), sign = b >>> 16 & 0x8000, e = (b >>> 23 & 255) - 112, m = b & 0x7fffff;
        if ((b & 0x7fffffff) == 0) return sign;
        if (e >= 31) return sign | 0x7c00 | (Float.isNaN(v) ? 0x200 : 0);
        return e > 0 ? sign | e << 10 | m >> 13 : e < -10 ? sign : sign | (m | 0x800000) >> 14 - e;
    }

    /** Stored elements of a dtype in NumPy's notation. */
    private static byte[] stored(Object value, String dtype, int item) throws Skip {
        if ("iufbS".indexOf(dtype.charAt(1)) < 0) throw new Skip();
        if (value instanceof ByteBuffer b) return b.array();
        List<Object> all = new ArrayList<>();
        flatten(value, all);
        ByteBuffer b = ByteBuffer.allocate(all.size() * item).order(dtype.startsWith(">") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
        for (Object v : all) {
            int end = b.position() + item;
            if (v instanceof Boolean t) v = t ? 1 : 0;
            if (dtype.charAt(1) == 'b' && v instanceof String s) v = s.equals("TRUE") ? 1 : 0; // names of the enum of h5py
            if (v instanceof Character c) v = (int) c;
            if (dtype.charAt(1) == 'S') {
                byte[] s = v.toString().getBytes(StandardCharsets.UTF_8);
                for (byte c : s) if (c < 0) throw new Skip(); // no character set decodes these bytes
                b.put(s, 0, Math.min(s.length, item));
            } else if (!(v instanceof Number n)) {
                throw new Skip();
            } else if (dtype.charAt(1) == 'f') {
                if (item == 8) b.putDouble(n.doubleValue());
                else if (item == 4) b.putFloat(n.floatValue());
                else b.putShort((short) half(n.floatValue()));
            } else {
                long x = n instanceof BigInteger i ? i.longValue() : n.longValue();
                if (item == 8) b.putLong(x);
                else if (item == 4) b.putInt((int) x);
                else if (item == 2) b.putShort((short) x);
                else b.put((byte) x);
            }
            b.position(end);
        }
        return b.array();
    }

    /** Writes a dataset of numbers with jHDF, whose type follows from that of a Java array. */
    private static void write(String data, String out, String object, String dtype, String shape) throws Exception {
        if (object.contains("@") || object.lastIndexOf('/') > 0 || dtype.startsWith(">") || shape.isEmpty()) throw new Skip();
        Class<?> type = switch (dtype.isEmpty() ? "" : dtype.substring(1)) {
            case "i1" -> byte.class;
            case "i2" -> short.class;
            case "i4" -> int.class;
            case "i8" -> long.class;
            case "f4" -> float.class;
            case "f8" -> double.class;
            default -> throw new Skip();
        };
        String[] s = shape.split(",");
        int[] dims = new int[s.length];
        for (int i = 0; i < s.length; i++) dims[i] = Integer.parseInt(s[i]);
        Object array = Array.newInstance(type, dims);
        fill(array, ByteBuffer.wrap(Files.readAllBytes(Path.of(data))).order(ByteOrder.LITTLE_ENDIAN));
        try (io.jhdf.WritableHdfFile f = io.jhdf.HdfFile.write(Path.of(out))) {
            f.putDataset(object.substring(1), array);
        }
    }

    private static void fill(Object array, ByteBuffer b) {
        for (int i = 0; i < Array.getLength(array); i++) {
            Class<?> c = array.getClass().getComponentType();
            if (c.isArray()) fill(Array.get(array, i), b);
            else if (c == byte.class) Array.setByte(array, i, b.get());
            else if (c == short.class) Array.setShort(array, i, b.getShort());
            else if (c == int.class) Array.setInt(array, i, b.getInt());
            else if (c == long.class) Array.setLong(array, i, b.getLong());
            else if (c == float.class) Array.setFloat(array, i, b.getFloat());
            else Array.setDouble(array, i, b.getDouble());
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // a library must not write between the answers
        boolean jhdf = args[0].equals("jhdf");
        String read = jhdf ? "new io.jhdf.HdfFile(java.nio.file.Path.of({in})).getDatasetByPath({object}).getData()"
            : "ucar.nc2.NetcdfFile.open({in}).findVariable({object}.substring(1)).read().copyToNDJavaArray()";
        String alone = "echo 'System.out.println(java.util.Arrays.deepToString(new Object[]{" + read + "}))'"
            + " | jshell --class-path \"$(echo lib/*.jar | tr ' ' :)\" -s -";
        answers.println("hyperslab.crosscheck.adapter/1\t" + args[0] + "\t" + System.getProperty(args[0]) + "\t" + alone);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] f = line.split("\t", -1);
            String answer = "ok";
            try {
                if (!f[3].equals("hdf5") || !jhdf && f[0].equals("write")) {
                    throw new Skip();
                } else if (f[0].equals("write")) {
                    write(f[1], f[2], f[4], f[5], f[7]);
                } else {
                    if (f[5].isEmpty()) throw new Skip(); // no dtype to compare with
                    if (!jhdf && f[5].equals("|b1")) throw new Skip(); // netCDF has no dtype bool
                    Object value = jhdf ? jhdf(f[1], f[4]) : netcdf(f[1], f[4]);
                    if (value == null) throw new IllegalStateException("the library returns null");
                    Files.write(Path.of(f[2]), stored(value, f[5], Integer.parseInt(f[6])));
                }
            } catch (Skip e) {
                answer = "skip";
            } catch (StackOverflowError | OutOfMemoryError e) {
                answer = "crash\t" + e;
            } catch (Throwable e) {
                answer = "refused\t" + e.toString().replaceAll("[\\t\\r\\n]", " ");
            }
            answers.println(answer);
            answers.flush();
        }
    }
}
