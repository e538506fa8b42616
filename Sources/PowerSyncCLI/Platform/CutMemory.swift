import Foundation

/// The memory of a file that somebody has cut short, such as the `-shm` of a database in WAL mode.
///
/// The system ends a process with SIGBUS when it touches memory that the file does not have any more. The runtime would write a backtrace
/// first, and a process that is being traced keeps its port, and answers nothing, for up to minutes.
enum CutMemory {
    /// Lets the process say what has happened, and end at once.
    static func endsTheProcess() {
        signal(SIGBUS) { _ in
            let text: StaticString = """
                Bus error: a file that the process has in memory, such as the -shm of a database, was cut short or cannot be read. \
                Start it again: what was acknowledged is in the other files.

                """
            _ = unsafe write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
            // The instruction is tried again when this returns, and the system ends the process.
            signal(SIGBUS, SIG_DFL)
        }
    }
}
