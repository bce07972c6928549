package io.github.libsampler;

import io.github.libsampler.internal.Layout;
import io.github.libsampler.internal.Raw;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashSet;
import java.util.Set;
import java.util.function.BiConsumer;

/**
 * What a sampler owns outside the Java heap, its states included. Apart from it, since the cleaner
 * destroys it when the sampler is no longer reachable. Its lock lets in one call at a time, and
 * none after closing.
 */
final class Handle implements Runnable {
  private final ByteBuffer memory;
  private final Call call;
  private final BiConsumer<LogLevel, String> log;

  /** Those that are not closed. */
  private final Set<StateMemory> states = new HashSet<>();
  private final Set<SessionMemory> sessions = new HashSet<>();

  /** 0 when closed. */
  private long address;

  /** Takes over the sampler at {@code address} and {@code memory}, of {@link Call#SIZE} bytes. */
  Handle(long address, ByteBuffer memory, boolean arraysOnDevice, boolean parametersOnDevice,
      BiConsumer<LogLevel, String> log) {
    this.address = address;
    this.memory = memory;
    this.log = log;
    this.call = new Call(memory, arraysOnDevice, parametersOnDevice);
  }

  /** Returns what {@link Call#run} returns, or throws what the library has to say. */
  synchronized long call(Arguments args, boolean onlySize) {
    checkOpen();
    return checked(call.run(address, args, null, onlySize));
  }

  /** The same of a state's call. */
  synchronized void call(Arguments args, StateMemory state) {
    checkOpen(state);
    checked(call.run(address, args, state, false));
  }

  boolean isOf(Call other) {
    return call == other;
  }

  private void checkOpen() {
    if (address == 0) {
      throw new IllegalStateException("the sampler is closed");
    }
  }

  private void checkOpen(StateMemory state) {
    checkOpen();
    if (state.address == 0) {
      throw new IllegalStateException("the state is closed");
    }
  }

  long checked(long result) {
    if (result < 0) {
      throw failure();
    }
    return result;
  }

  /** Hands over the line that a call has logged. */
  void passLog() {
    if (log != null) {
      final int level = Raw.shimLogLevel(address);
      if (level >= 0) {
        log.accept(LogLevel.values()[level], Raw.shimLogLine(address));
      }
    }
  }

  /** The exception of the call that has failed. */
  SamplerException failure() {
    passLog();
    return SamplerException.of(Status.of(Raw.shimStatus(address)), Raw.shimError(address));
  }

  synchronized StateMemory newState(StateOptions options) {
    checkOpen();
    final long state = Raw.shimStateCreate(address, options.write(memory));
    if (state == 0) {
      throw failure();
    }
    // What C has read, whatever other threads have set since.
    final StateMemory made = new StateMemory(
        this, state, memory.getLong(Call.ARGS + Layout.STATE_OPTIONS_NUM_SLOTS));
    states.add(made);
    return made;
  }

  synchronized long stateSize(StateOptions options) {
    checkOpen();
    return checked(Raw.shimStateSize(address, options.write(memory)));
  }

  synchronized byte[] serialize(StateMemory state, long firstSlot, long numSlots) {
    checkOpen(state);
    final long bytes = checked(
        Raw.shimStateSerialize(address, state.address, firstSlot, numSlots, 0, 0));
    final ByteBuffer buffer = direct(bytes);
    final byte[] data = new byte[buffer.remaining()];
    checked(Raw.shimStateSerialize(
        address, state.address, firstSlot, numSlots, Raw.javaAddress(buffer), bytes));
    buffer.get(data);
    return data;
  }

  synchronized int deserialize(StateMemory state, long firstSlot, byte[] data) {
    checkOpen(state);
    final ByteBuffer buffer = direct(data.length).put(data);
    try {
      return (int) checked(Raw.shimStateDeserialize(
          address, state.address, firstSlot, Raw.javaAddress(buffer), data.length));
    } finally {
      Reference.reachabilityFence(buffer);
    }
  }

  synchronized SessionMemory newSession(SessionOptions options) {
    checkOpen();
    final Buffers buffers = new Buffers();
    final Object[] kept = call.keep(() -> options.write(call, buffers));
    final long session = Raw.shimSessionCreate(address, call.argsAddress());
    Reference.reachabilityFence(buffers);
    if (session == 0) {
      throw failure();
    }
    final SessionMemory made = new SessionMemory(this, session, memory, Call.ARGS, kept);
    sessions.add(made);
    return made;
  }

  synchronized long sessionSize(SessionOptions options) {
    checkOpen();
    final Buffers buffers = new Buffers();
    call.keep(() -> options.write(call, buffers));
    final long bytes = checked(Raw.shimSessionSize(address, call.argsAddress()));
    Reference.reachabilityFence(buffers);
    return bytes;
  }

  /** A call of a session, which writes its arguments first and reads its outputs then. */
  interface SessionCall<T> {
    T run(Call call, long handle, long session);
  }

  synchronized <T> T call(SessionMemory session, SessionCall<T> made) {
    checkOpen();
    if (session.address == 0) {
      throw new IllegalStateException("the session is closed");
    }
    return made.run(call, address, session.address);
  }

  synchronized void closeSession(SessionMemory session) {
    if (sessions.remove(session)) {
      session.destroy();
    }
  }

  private static ByteBuffer direct(long bytes) {
    if (bytes > Integer.MAX_VALUE - 8) {
      throw new InvalidArgumentException(
          "the sequences take " + bytes + " bytes; an array has fewer than 2^31");
    }
    return ByteBuffer.allocateDirect((int) bytes).order(ByteOrder.nativeOrder());
  }

  synchronized void closeState(StateMemory state) {
    if (states.remove(state)) {
      Raw.shimStateDestroy(state.address);
      state.address = 0;
    }
  }

  /** Destroys, after the call that is running; the second time it does nothing. */
  @Override
  public synchronized void run() {
    if (address != 0) {
      for (StateMemory state : states) {
        Raw.shimStateDestroy(state.address);
        state.address = 0;
      }
      states.clear();
      sessions.forEach(SessionMemory::destroy);
      sessions.clear();
      Raw.shimDestroy(address);
      Raw.javaFree(memory);
      address = 0;
    }
  }
}
