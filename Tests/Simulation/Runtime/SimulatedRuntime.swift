import CSimulation
import Foundation
import TestSupport

/// Runs all tasks and all blocks of Dispatch of this process on one thread, in an order that a seed decides, by a clock that jumps when
/// nothing can run.
///
/// ```
///  a task can go on ─┐                       ┌─► its job, until it waits
///  dispatch_async ───┼─► due ─ one by chance ┼─► the block, on its queue
///  after a delay ────┘    ▲                  └─► a closure of the simulation
///                         └─ when none is due, the clock goes to the next time
/// ```
///
/// Blocks of one serial queue keep their order; everything else that is due at the same time may come in any. An access to GRDB is a
/// block, and runs as a whole.
///
/// `@unchecked`: everything happens on one thread.
package final class SimulatedRuntime: @unchecked Sendable {
    /// The runtime of this process, from ``begin(seed:)`` on.
    nonisolated(unsafe) private static var current: SimulatedRuntime?

    private enum Work {
        case system(simulation_work)
        case closure(() -> Void)
    }

    private struct Item {
        var work: Work
        var process: Int
    }

    /// Nanoseconds from 1970 to the beginning of each simulation: 2027-01-15 08:00 UTC.
    private static let beginning: Int64 = 1_800_000_000_000_000_000

    /// How much can happen without waiting for anything, unless something goes round in circles.
    private static let longestMoment = 2_000_000

    /// Nanoseconds since the simulation has begun.
    package private(set) var now: UInt64 = 0
    /// How many jobs, blocks and closures have run.
    package private(set) var steps: UInt64 = 0
    /// Depends on everything that has run, and when.
    package private(set) var trace: UInt64 = 0xcbf2_9ce4_8422_2325

    private var due: [Item] = []
    private var later = EventQueue<Item>()
    private var processes: [ProcessState] = []
    /// The process of each task that has run.
    private var owners: [UInt64: Int] = [:]
    /// The process that runs now.
    private var running = 0 {
        didSet { _ = simulation_set_owner(UInt32(clamping: running)) }
    }
    /// What is done when processes die, by the order in which it was asked for.
    private var deaths: [Int: (process: Int, body: () -> Void)] = [:]
    private var lastDeath = 0
    /// Decides what runs next.
    private var order: SeededGenerator
    /// What processes get from the system as random.
    private var entropy: SeededGenerator

    private init(seed: UInt64) {
        order = SeededGenerator(seed: seed &* 3 &+ 1)
        entropy = SeededGenerator(seed: seed &* 3 &+ 2)
        processes = [ProcessState(process: SimulatedProcess(id: 0, name: "world"))]
    }

    /// Takes the place of the system, for the rest of the real process.
    ///
    /// Call it once, on the main thread, before anything else.
    package static func begin(seed: UInt64) -> SimulatedRuntime {
        precondition(current == nil, "a process has one simulation")
        let runtime = SimulatedRuntime(seed: seed)
        current = runtime
        let callbacks = UnsafeMutablePointer<simulation_callbacks>.allocate(capacity: 1)
        callbacks.initialize(
            to: simulation_callbacks(
                enqueue: { work, time in SimulatedRuntime.current?.enqueue(work, at: time) },
                run_another_block: { SimulatedRuntime.current?.runAnotherBlock() ?? false },
                finish_blocks: { queue in SimulatedRuntime.current?.finishBlocks(of: queue) },
                now: { SimulatedRuntime.current?.now ?? 0 },
                wall_clock_offset: { SimulatedRuntime.current?.wallClockOffset ?? 0 },
                random: { bytes, count in SimulatedRuntime.current?.fill(bytes, count) },
                will_change_file: { kind in SimulatedRuntime.current?.willChangeFile(kind) ?? 0 }
            )
        )
        simulation_begin(callbacks)
        simulation_seed_sqlite(UInt32(truncatingIfNeeded: seed | 1))
        return runtime
    }

    /// Runs until a condition holds, nothing is left to run, or time does not go on.
    ///
    /// - Returns: Whether the condition holds.
    package func run(until isDone: () -> Bool) -> Bool {
        var (time, stepsAtTime) = (now, 0)
        while !isDone() {
            bringDue()
            (time, stepsAtTime) = (now, time == now ? stepsAtTime + 1 : 0)
            guard stepsAtTime < Self.longestMoment, let item = takeOne() else { return false }
            run(item)
        }
        return true
    }

    // MARK: What is to run

    /// Does something whose memory is not that of the process that runs.
    package func withoutOwner<Result>(_ body: () throws -> Result) rethrows -> Result {
        let owner = simulation_set_owner(0)
        defer { _ = simulation_set_owner(owner) }
        return try body()
    }

    /// How many bytes belong to a process, without what SQLite has.
    package func memory(of process: SimulatedProcess) -> Int { Int(simulation_memory_of(UInt32(clamping: process.id))) }

    /// Runs a closure of the simulation later, for a process: not at all if that has died by then.
    package func after(_ delay: Duration, for process: SimulatedProcess? = nil, _ body: @escaping () -> Void) {
        withoutOwner {
            let item = Item(work: .closure(body), process: process?.id ?? 0)
            later.add(item, at: now + UInt64(max(0, delay / .nanoseconds(1))))
        }
    }

    private func enqueue(_ work: simulation_work, at time: UInt64) {
        let owner = simulation_set_owner(0)
        defer { _ = simulation_set_owner(owner) }
        var process = running
        if work.task != 0 {
            process = owners[work.task] ?? running
            owners[work.task] = process
        }
        let item = Item(work: .system(work), process: process)
        if time <= now { due.append(item) } else { later.add(item, at: time) }
    }

    /// Moves what has its time to what is due, and the clock if nothing is.
    private func bringDue() {
        if due.isEmpty, let next = later.firstTime { now = max(now, next) }
        while let next = later.firstTime, next <= now, let item = later.removeFirst() { due.append(item) }
    }

    /// Takes one by chance of what is due; `nil` when there is nothing.
    private func takeOne() -> Item? {
        guard !due.isEmpty else { return nil }
        return due.remove(at: firstOfQueue(at: order.number(below: due.count)))
    }

    /// The index of the first block of the queue of what is at an index.
    private func firstOfQueue(at index: Int) -> Int {
        guard case .system(let work) = due[index].work, work.is_ordered else { return index }
        return due.firstIndex { isOrdered($0, on: work.queue) } ?? index
    }

    private func isOrdered(_ item: Item, on queue: UnsafeMutableRawPointer?) -> Bool {
        guard case .system(let work) = item.work else { return false }
        return work.is_ordered && work.queue == queue
    }

    private func run(_ item: Item) {
        let state = processes[item.process]
        // What a dead process would do stays undone; what it has in memory stays there.
        guard state.isAlive else { return }
        let outer = running
        running = item.process
        defer { running = outer }
        steps += 1
        note(UInt64(item.process))
        switch item.work {
        case .system(let work):
            note(item.process, work.task &* 4 &+ (work.queue == nil ? 0 : work.is_ordered ? 1 : 2))
            simulation_run(work)
        case .closure(let body):
            note(item.process, 3)
            body()
        }
    }

    private func note(_ process: Int, _ work: UInt64) {
        note(work)
        simulation_record(steps, now, UInt64(process), work)
    }

    /// Writes a line for each job, block and closure to a file: where two runs part can be seen by comparing theirs.
    ///
    /// - Throws: When there can be no such file.
    package func record(to path: String) throws {
        guard simulation_record_to(path) else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    /// Adds a number to the trace, with the time: FNV-1a.
    package func note(_ number: UInt64) {
        trace = (trace ^ number) &* 0x100_0000_01b3
        trace = (trace ^ now) &* 0x100_0000_01b3
    }

    // MARK: What blocks wait for

    /// Runs a block while another one waits for it.
    private func runAnotherBlock() -> Bool {
        let others = due.indices.filter { index in
            guard case .system(let work) = due[index].work, let queue = work.queue else { return false }
            return firstOfQueue(at: index) == index && !simulation_is_running(queue)
        }
        guard !others.isEmpty else { return false }
        run(due.remove(at: others[order.number(below: others.count)]))
        return true
    }

    /// Runs the blocks that were given to a serial queue before a synchronous one.
    private func finishBlocks(of queue: UnsafeMutableRawPointer?) {
        while let index = due.firstIndex(where: { isOrdered($0, on: queue) }) { run(due.remove(at: index)) }
    }

    // MARK: Processes

    /// Begins a process.
    ///
    /// - Parameter name: Its name in the timeline.
    /// - Returns: The process.
    package func makeProcess(_ name: String) -> SimulatedProcess {
        withoutOwner {
            let process = SimulatedProcess(id: processes.count, name: name)
            processes.append(ProcessState(process: process))
            return process
        }
    }

    /// Does something as a process: tasks that it begins are the process's.
    package func run<Result>(as process: SimulatedProcess, _ body: () throws -> Result) rethrows -> Result {
        let outer = running
        running = process.id
        defer { running = outer }
        return try body()
    }

    /// Ends a process at once: none of its tasks goes on, and none of its files changes.
    package func kill(_ process: SimulatedProcess) {
        guard processes[process.id].isAlive else { return }
        processes[process.id].isAlive = false
        let due = deaths.filter { $0.value.process == process.id }.sorted { $0.key < $1.key }
        for (number, _) in due { deaths[number] = nil }
        for (_, death) in due { after(.zero, death.body) }
    }

    /// Does something in the world when a process has died.
    ///
    /// - Returns: A number for ``forgetDeath(_:)``.
    package func whenDead(_ process: SimulatedProcess, _ body: @escaping () -> Void) -> Int {
        lastDeath += 1
        withoutOwner { deaths[lastDeath] = (process.id, body) }
        return lastDeath
    }

    /// Takes back a ``whenDead(_:_:)``.
    package func forgetDeath(_ number: Int) { deaths[number] = nil }

    /// Ends a process when it has changed its files a number of times, in the middle of what it does then.
    package func kill(_ process: SimulatedProcess, afterFileChanges count: Int) {
        processes[process.id].changesUntilDeath = count
    }

    /// Takes back a ``kill(_:afterFileChanges:)``.
    package func spare(_ process: SimulatedProcess) { processes[process.id].changesUntilDeath = nil }

    /// Whether a process runs.
    package func isAlive(_ process: SimulatedProcess) -> Bool { processes[process.id].isAlive }

    /// Sets how far the wall clock of a process is ahead of the true time.
    package func setClock(of process: SimulatedProcess, ahead skew: Duration) {
        processes[process.id].clockSkew = Int64(skew / .nanoseconds(1))
    }

    /// Fills the disk of a process, or makes room again.
    package func setDisk(of process: SimulatedProcess, isFull: Bool) {
        processes[process.id].hasFullDisk = isFull
    }

    // MARK: The system

    private var wallClockOffset: Int64 { Self.beginning + processes[running].clockSkew }

    private func fill(_ bytes: UnsafeMutableRawPointer?, _ count: Int) {
        let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: count)
        for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: entropy.next() >> 32) }
    }

    private func willChangeFile(_ kind: Int32) -> Int32 {
        let failedWrite: Int32 = 10 | (3 << 8)
        let fullDisk: Int32 = 13
        let state = processes[running]
        guard state.process.id != 0 else { return 0 }
        guard state.isAlive else { return failedWrite }
        if let left = state.changesUntilDeath {
            guard left > 0 else {
                kill(state.process)
                return failedWrite
            }
            processes[running].changesUntilDeath = left - 1
        }
        return state.hasFullDisk && kind == Int32(UInt8(ascii: "w")) ? fullDisk : 0
    }
}
