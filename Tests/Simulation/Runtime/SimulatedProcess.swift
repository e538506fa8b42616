/// A process of the simulation: a client, the service, the backend.
///
/// All of them are in one real process.
/// What runs belongs to the process that has begun it; a process that has died runs nothing any more, and changes no file.
package final class SimulatedProcess: Sendable {
    /// Its number, in the order in which processes begin.
    package let id: Int
    /// Its name in the timeline.
    package let name: String

    init(id: Int, name: String) {
        (self.id, self.name) = (id, name)
    }
}

/// What the runtime knows of a process.
struct ProcessState {
    let process: SimulatedProcess
    var isAlive = true
    /// How far its wall clock is ahead of the true time, in nanoseconds.
    var clockSkew: Int64 = 0
    /// How many more changes of files it makes before it dies; `nil` for as many as it likes.
    var changesUntilDeath: Int?
    /// Whether its disk is full: nothing can be written, though truncated and deleted.
    var hasFullDisk = false
}
