package penstock.storm.lab;

import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.ServerSocketChannel;
import java.security.ProtectionDomain;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Keeps a JVM to one loopback address: {@code -javaagent:penstock-storm.jar=127.0.0.31}.
 *
 * <p>Storm's daemons and workers listen on all addresses of a computer, and no setting says otherwise. With this
 * agent, {@code bind} to no particular address is {@code bind} to that one, in both of Java's server sockets. A JVM in
 * which that does not work does not start.
 */
public final class LoopbackAgent {
    private static final String BIND = "bind";
    private static final String BIND_TYPE = "(Ljava/net/SocketAddress;I)";
    private static final String SOCKET_ADDRESS = "java/net/InetSocketAddress";
    private static final String ADDRESS = "java/net/InetAddress";

    private LoopbackAgent() {}

    /** Runs before the program's own {@code main}; an exception ends the JVM. */
    public static void premain(String address, Instrumentation jvm) throws Exception {
        if (address == null || !InetAddress.getByName(address).isLoopbackAddress()) {
            throw new IllegalArgumentException("no loopback address: " + address);
        }
        jvm.addTransformer(new Transformer(address), true);
        jvm.retransformClasses(ServerSocket.class, ServerSocketChannel.open().getClass());
        check(InetAddress.getByName(address));
    }

    private static void check(InetAddress wanted) throws IOException {
        try (ServerSocket socket = new ServerSocket(0);
                ServerSocketChannel channel = ServerSocketChannel.open().bind(new InetSocketAddress(0))) {
            InetAddress ofChannel = ((InetSocketAddress) channel.getLocalAddress()).getAddress();
            if (!socket.getInetAddress().equals(wanted) || !ofChannel.equals(wanted)) {
                throw new IllegalStateException("this Java could not be kept to " + wanted);
            }
        }
    }

    private static final class Transformer implements ClassFileTransformer {
        private final String address;

        Transformer(String address) {
            this.address = address;
        }

        @Override
        public byte[] transform(
                ClassLoader loader, String name, Class<?> known, ProtectionDomain domain, byte[] bytes) {
            if (!"java/net/ServerSocket".equals(name) && !"sun/nio/ch/ServerSocketChannelImpl".equals(name)) {
                return null;
            }
            ClassReader reader = new ClassReader(bytes);
            ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
            reader.accept(new Binder(writer, address), 0);
            return writer.toByteArray();
        }
    }

    private static final class Binder extends ClassVisitor {
        private final String address;

        Binder(ClassVisitor next, String address) {
            super(Opcodes.ASM9, next);
            this.address = address;
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] thrown) {
            MethodVisitor next = super.visitMethod(access, name, type, signature, thrown);
            boolean isBind = name.equals(BIND) && type.startsWith(BIND_TYPE);
            return isBind ? new Prologue(next, address) : next;
        }
    }

    /** In front of the method: if the first argument is a port on all addresses, make it one on ours. */
    private static final class Prologue extends MethodVisitor {
        private final String address;

        Prologue(MethodVisitor next, String address) {
            super(Opcodes.ASM9, next);
            this.address = address;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            Label isGiven = new Label();
            Label asItWas = new Label();
            // No address at all is any port on all of them.
            visitVarInsn(Opcodes.ALOAD, 1);
            visitJumpInsn(Opcodes.IFNONNULL, isGiven);
            visitTypeInsn(Opcodes.NEW, SOCKET_ADDRESS);
            visitInsn(Opcodes.DUP);
            visitInsn(Opcodes.ICONST_0);
            visitMethodInsn(Opcodes.INVOKESPECIAL, SOCKET_ADDRESS, "<init>", "(I)V", false);
            visitVarInsn(Opcodes.ASTORE, 1);
            visitLabel(isGiven);
            // The same local variables as at the start, so the frames that follow stay what they are.
            visitFrame(Opcodes.F_SAME, 0, null, 0, null);
            visitVarInsn(Opcodes.ALOAD, 1);
            visitTypeInsn(Opcodes.INSTANCEOF, SOCKET_ADDRESS);
            visitJumpInsn(Opcodes.IFEQ, asItWas);
            given("getAddress", "()L" + ADDRESS + ";");
            visitJumpInsn(Opcodes.IFNULL, asItWas);
            given("getAddress", "()L" + ADDRESS + ";");
            visitMethodInsn(Opcodes.INVOKEVIRTUAL, ADDRESS, "isAnyLocalAddress", "()Z", false);
            visitJumpInsn(Opcodes.IFEQ, asItWas);
            visitTypeInsn(Opcodes.NEW, SOCKET_ADDRESS);
            visitInsn(Opcodes.DUP);
            visitLdcInsn(address);
            visitMethodInsn(
                    Opcodes.INVOKESTATIC, ADDRESS, "getByName", "(Ljava/lang/String;)L" + ADDRESS + ";", false);
            given("getPort", "()I");
            visitMethodInsn(Opcodes.INVOKESPECIAL, SOCKET_ADDRESS, "<init>", "(L" + ADDRESS + ";I)V", false);
            visitVarInsn(Opcodes.ASTORE, 1);
            visitLabel(asItWas);
            visitFrame(Opcodes.F_SAME, 0, null, 0, null);
            visitInsn(Opcodes.NOP);
        }

        private void given(String method, String type) {
            visitVarInsn(Opcodes.ALOAD, 1);
            visitTypeInsn(Opcodes.CHECKCAST, SOCKET_ADDRESS);
            visitMethodInsn(Opcodes.INVOKEVIRTUAL, SOCKET_ADDRESS, method, type, false);
        }
    }
}
