import Foundation
import PowerSync
import PowerSyncServiceCore
import TestSupport

/// Users with devices, a service and a backend, and what happens to them during some virtual hours.
///
/// `@unchecked`: the simulation has one thread.
package final class World: @unchecked Sendable {
    /// What a run is made of.
    package struct Options {
        /// Decides everything.
        package var seed: UInt64
        package var hours = 12.0
        package var devices = 10
        /// The numbers of steps that are left out.
        package var without: Set<Int> = []
        /// Whether the timeline is printed while it runs.
        package var isPrinted = false
        /// Whether it has what the programs log.
        package var hasLogs = false
        /// What is broken on purpose.
        package var broken: Break?
        /// Where files are.
        package var folder: String

        package init(seed: UInt64, folder: String) { (self.seed, self.folder) = (seed, folder) }
    }

    /// What a world can be told to do wrong, to see that it is noticed.
    package enum Break: String, CaseIterable {
        /// A device does not show what the writer of a row had seen.
        case causality
        /// The status of a device never says what it waits for.
        case waits
        /// An app keeps all that it has ever read.
        case memory
    }

    /// How long after all faults everything is in sync.
    private static let patience = 900.0
    /// How long it takes without any faults until everybody has what others have written.
    private static let promptness = 60.0
    /// How long faults go on until everything has to be in sync again.
    private static let period = 7200.0

    package let runtime: SimulatedRuntime
    package let timeline: Timeline
    /// What must not have happened.
    package private(set) var violations: [String] = []
    /// How many times the rows of a device were compared.
    var checks = 0
    /// How much has happened.
    package var summary: String { "steps=\(steps) commits=\(history.lastCommit) views=\(checks) jobs=\(runtime.steps)" }

    /// How many steps there were.
    private var steps = 0

    let network: SimulatedNetwork
    let history: SourceHistory
    let backend: SimulatedBackend
    let service: SimulatedService
    private(set) var devices: [SimulatedDevice] = []

    private static let users = ["ann", "ben", "cat", "dan"]
    private let options: Options
    private var plan: SeededGenerator
    private var config = 0
    private var lastAdministration = 0
    private var causality = Causality()
    private var memory = MemoryCheck()
    private var isDone = false
    /// Whether no process is ended, so that what it has in memory can grow: in one world of four.
    private var hasLongLives: Bool { options.seed % 4 == 0 }
    /// How many times everything was at rest.
    private var rests = 0

    /// Makes a world; call it once in a process, after ``SimulatedRuntime/begin(seed:)``.
    package init(_ options: Options, runtime: SimulatedRuntime) throws {
        self.options = options
        self.runtime = runtime
        timeline = Timeline(runtime)
        timeline.isPrinted = options.isPrinted
        timeline.hasLogs = options.hasLogs
        plan = SeededGenerator(seed: options.seed &* 7 &+ 5)
        network = SimulatedNetwork(runtime, seed: options.seed &* 7 &+ 6)
        history = SourceHistory(users: Self.users)
        let folder = options.folder
        for name in ["source", "service"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        let secret = Array(repeating: UInt8(7), count: 32)
        let sourcePath = "\(folder)/source/source.db"
        let process = runtime.makeProcess("backend")
        backend = try runtime.run(as: process) { [history] in
            try SimulatedBackend(runtime, path: sourcePath, process: process, history: history, secret: secret)
        }
        service = SimulatedService(
            runtime,
            timeline: timeline,
            sourcePath: sourcePath,
            folder: "\(folder)/service",
            secret: secret,
            seed: options.seed &* 7 &+ 4
        )
        for number in 0..<options.devices {
            let user = Self.users[number % Self.users.count]
            let name = "\(user)\(number / Self.users.count + 1)"
            devices.append(
                SimulatedDevice(
                    name,
                    user: user,
                    folder: "\(folder)/\(name)",
                    checkpointMode: number % 3 == 2 ? .requests() : .legacy,
                    in: self
                )
            )
        }
    }

    /// Notes that something has happened that must not.
    func fail(_ text: String) {
        violations.append(text)
        timeline.add("check", "VIOLATION: \(text)")
    }

    /// Whether something is broken on purpose.
    func isBroken(_ what: Break) -> Bool { options.broken == what }

    /// Runs everything.
    ///
    /// - Returns: Whether nothing has happened that must not.
    package func run() -> Bool {
        _ = Task { await self.live() }
        if !runtime.run(until: { isDone || !violations.isEmpty }) { fail("nothing goes on") }
        return violations.isEmpty
    }

    private func live() async {
        defer { isDone = true }
        do {
            superviseService()
            try await administer(count: 40)
            for device in devices { device.launch() }
            try await settle()
            // As below: the plan does not depend on how long it takes.
            var begin = 4 * Self.promptness
            try await sleep(until: UInt64(begin * 1e9))
            let lastEnd = begin + options.hours * 3600
            while begin < lastEnd {
                let end = min(begin + Self.period, lastEnd)
                try await pass(from: begin, until: end)
                try await settle()
                // Whether it took long or not, so that the plan does not depend on what has happened.
                begin = end + Self.patience + 2 * Self.promptness
                if begin < lastEnd { try await sleep(until: UInt64(begin * 1e9)) }
            }
        } catch let violation as Violation {
            fail("\(violation)")
        } catch {
            fail("the world has an error: \(error)")
        }
    }

    /// Lets steps happen.
    private func pass(from begin: Double, until end: Double) async throws {
        let planned = Step.plan(
            &plan,
            devices: devices.count,
            from: UInt64(begin * 1000),
            until: UInt64(end * 1000),
            firstNumber: steps
        )
        steps += planned.count
        for step in planned {
            try await sleep(until: step.time * 1_000_000)
            guard !options.without.contains(step.number), !hasLongLives || !step.action.endsProcess else { continue }
            try await make(step)
        }
        try await sleep(until: UInt64(end * 1e9))
    }

    private func sleep(until time: UInt64) async throws {
        guard time > runtime.now else { return }
        try await Task.sleep(for: .nanoseconds(Int64(time - runtime.now)))
    }

    // MARK: Steps

    private func make(_ step: Step) async throws {
        let device = devices[step.device]
        var random = SeededGenerator(seed: step.seed)
        timeline.add("step", "\(step.number): \(step.action.concernsAll ? "" : device.name + " ")\(step.action)")
        switch step.action {
        case .write: device.write(random)
        case .administer: try await administer(count: 1 + random.number(below: 8), &random)
        case .changeMembers: try await changeMembers(&random)
        default: try await disturb(device, step.action, &random)
        }
    }

    private func disturb(_ device: SimulatedDevice, _ action: Step.Action, _ random: inout SeededGenerator) async throws
    {
        func after(_ seconds: Int, _ body: @escaping () -> Void) { runtime.after(.seconds(seconds), body) }
        let link = device.link
        switch action {
        case .write, .administer, .changeMembers: break
        case .disconnect: device.disconnect()
        case .connect: device.connect()
        case .changeUser(let soft):
            device.changeUser(to: Self.users[random.number(below: Self.users.count)], soft: soft)
        case .kill(let count): device.kill(afterFileChanges: count)
        case .killNow: device.kill()
        case .restore: device.restore()
        case .subscribe:
            device.subscribe(
                to: .choose(&random),
                ttl: [nil, 0, 60, 1800][random.number(below: 4)],
                priority: [nil, nil, 0, 1, 2, 3][random.number(below: 6)]
            )
        case .unsubscribe: device.unsubscribe(from: .choose(&random))
        case .losePower: device.losePower(random)
        case .updateSchema(let asConnected): device.updateSchema(asConnected: asConnected)
        case .launch: device.launch()
        case .linkDown(let seconds): link.goDown(until: runtime.now + UInt64(seconds) * 1_000_000_000)
        case .linkSilent(let seconds):
            let end = runtime.now + UInt64(seconds) * 1_000_000_000
            (link.silentOutUntil, link.silentInUntil) = (end, end)
        case .linkSilentOut(let seconds): link.silentOutUntil = runtime.now + UInt64(seconds) * 1_000_000_000
        case .linkSilentIn(let seconds): link.silentInUntil = runtime.now + UInt64(seconds) * 1_000_000_000
        case .linkHalfClosed: link.halfClose()
        case .linkForgotten: link.loseStreams()
        case .linkCut: link.cut()
        case .linkSlow: link.latency = 500...8000
        case .linkLossy: link.lostAnswers = 30
        case .linkRepeats: link.repeatedRequests = 50
        case .clock(let seconds): runtime.setClock(of: link.process, ahead: .seconds(seconds))
        case .fullDisk(let seconds):
            let process = link.process
            runtime.setDisk(of: process, isFull: true)
            after(seconds) { [runtime] in runtime.setDisk(of: process, isFull: false) }
        case .backendBusy(let seconds):
            backend.mood = .isBusy
            after(seconds) { [backend] in backend.mood = .works }
        case .backendSlow(let seconds):
            backend.mood = .isSlow(seconds)
            after(300) { [backend] in backend.mood = .works }
        case .backendClock(let seconds): runtime.setClock(of: backend.process, ahead: .seconds(seconds))
        case .killBackend(let count): backend.kill(afterFileChanges: count)
        case .backendRejects(let seconds):
            backend.mood = .rejects(30)
            after(seconds) { [backend] in backend.mood = .works }
        case .shortTokens:
            backend.tokenLifetime = .seconds(90)
            after(1800) { [backend] in backend.tokenLifetime = .seconds(3600) }
        case .deploy: deploy()
        case .compact: service.compact()
        case .addNode: service.addNode()
        case .removeNode: service.removeNode()
        case .restoreSource(let seconds): try await backUp(andRestoreAfter: seconds)
        case .alterSource:
            let adds = try await backend.alter()
            timeline.add("admin", adds ? "adds a column" : "drops a column")
        case .killService(let count): service.kill(afterFileChanges: count)
        case .serviceLosesPower: service.losePower(random)
        case .serviceClock(let seconds): service.setClock(ahead: .seconds(seconds))
        case .serviceFullDisk(let seconds):
            service.setDisk(isFull: true)
            after(seconds) { [service] in service.setDisk(isFull: false) }
        }
    }

    private func deploy() {
        config = (config + 1) % WorldSchema.configs.count
        guard let node = service.node else { return }
        let text = WorldSchema.configs[config]
        runtime.run(as: node.process) {
            _ = Task { [timeline] in
                do {
                    let outcome = try await node.core.deployer.deploy(text).outcome
                    timeline.add("deploy", "\(outcome)")
                } catch {
                    timeline.add("deploy", "fails: \(error)")
                }
            }
        }
    }

    /// Starts the service whenever it does not run, now and every few seconds.
    private func superviseService() {
        do {
            try service.start(WorldSchema.configs[config])
        } catch {
            fail("the service cannot be started: \(error)")
        }
        runtime.after(.seconds(10)) { [self] in superviseService() }
    }

    // MARK: The source

    /// Makes a backup of the source, and puts the source back to it later, unless everything was at rest in between.
    private func backUp(andRestoreAfter seconds: Int) async throws {
        let (backup, rests) = (try await backend.backUp(), rests)
        timeline.add("admin", "makes a backup")
        runtime.after(.seconds(seconds)) { [self] in
            guard rests == self.rests else { return }
            _ = Task {
                do {
                    try await backend.restore(backup)
                    timeline.add("admin", "puts the source back to the backup")
                } catch {
                    fail("the source cannot be put back: \(error)")
                }
            }
        }
    }

    /// Makes spaces, members and some rows.
    private func administer(count: Int) async throws {
        for space in WorldSchema.spaces {
            try await change("INSERT INTO spaces VALUES (?, 'a space', ?)", [space, tag()])
        }
        for (index, user) in Self.users.enumerated() {
            for space in [index, (index + 1) % 6, 5] {
                let id = "\(user)-s\(space)"
                try await change("INSERT INTO members VALUES (?, ?, ?, ?)", [id, "s\(space)", user, tag()])
            }
        }
        var random = SeededGenerator(seed: plan.next())
        for _ in 0..<count { try await administer(count: 1, &random) }
    }

    private func tag() -> String {
        lastAdministration += 1
        return "admin#\(lastAdministration)"
    }

    private func change(_ sql: String, _ arguments: [String]) async throws {
        try await backend.change([(sql, arguments)])
    }

    /// Other programs change rows of the source, in one transaction.
    private func administer(count: Int, _ random: inout SeededGenerator) async throws {
        var statements: [(sql: String, arguments: [String])] = []
        for _ in 0..<count {
            let table = ["todos", "todos", "lists", "notes", WorldSchema.docs][random.number(below: 5)]
            let (tag, ids) = (tag(), history.all(table))
            let space = "s\(random.number(below: 6))"
            let choice = random.number(below: 10)
            if ids.isEmpty || (choice < 5 && ids.count < 120) {
                let owner = Self.users[random.number(below: Self.users.count)]
                noteCauses(of: tag, among: history.rows(of: table, in: table == "notes" ? owner : space), &random)
                switch table {
                case "notes":
                    statements.append(("INSERT INTO notes VALUES (?, ?, 'a note', ?)", [tag, owner, tag]))
                case "lists": statements.append(("INSERT INTO lists VALUES (?, ?, 'a list', ?)", [tag, space, tag]))
                case WorldSchema.docs:
                    statements.append(("INSERT INTO docs VALUES (?, ?, 'a doc', ?)", [tag, space, tag]))
                default:
                    let sql = "INSERT INTO todos(id, space_id, list_id, title, tag) VALUES (?, ?, 'none', 'a todo', ?)"
                    statements.append((sql, [tag, space, tag]))
                }
                continue
            }
            let id = ids[random.number(below: ids.count)]
            switch choice {
            case 5 where table == WorldSchema.docs:
                statements.append(("UPDATE docs SET body = ?1 WHERE id = ?2", ["body of \(tag)", id]))
            case 0..<7:
                if let scope = history.scope(of: SourceHistory.Key(table: table, id: id)) {
                    noteCauses(of: tag, among: history.rows(of: table, in: scope), &random)
                }
                let more = table == "todos" ? WorldSchema.extraAssignment : ""
                statements.append(("UPDATE \(table) SET tag = ?1\(more) WHERE id = ?2", [tag, id]))
            // Docs stay in their space: a device may have that of one space with another priority than that of the other one.
            case 7 where table != "notes" && table != WorldSchema.docs:
                statements.append(("UPDATE \(table) SET tag = ?, space_id = ? WHERE id = ?", [tag, space, id]))
            default: statements.append(("DELETE FROM \(table) WHERE id = ?", [id]))
            }
        }
        timeline.add("admin", "changes \(count) rows")
        try await backend.change(statements)
    }

    /// Notes two of the rows that a writer sees.
    func noteCauses(of tag: String, among rows: [SeenRow], _ random: inout SeededGenerator) {
        guard !rows.isEmpty else { return }
        let seen = (0..<2).map { _ in rows[random.number(below: rows.count)] }
        runtime.withoutOwner { causality.note(tag, saw: seen) }
    }

    /// What a device does not show that the writer of one of its rows had seen.
    func firstBreakOfCausality(
        in rows: [SourceHistory.Key: String],
        own: [SourceHistory.Key: [DeviceWrite]]
    ) -> String? {
        guard isBroken(.causality), let hidden = rows.keys.first(where: { $0.table == "todos" }) else {
            return causality.firstBreak(in: rows, own: own, history)
        }
        return causality.firstBreak(in: rows.filter { $0.key != hidden }, own: own, history)
    }

    private func changeMembers(_ random: inout SeededGenerator) async throws {
        let user = Self.users[random.number(below: Self.users.count)]
        let space = "s\(random.number(below: 6))"
        let id = "\(user)-\(space)"
        let isMember = history.has(SourceHistory.Key(table: "members", id: id))
        timeline.add("admin", isMember ? "\(user) leaves \(space)" : "\(user) enters \(space)")
        if isMember {
            try await change("DELETE FROM members WHERE id = ?", [id])
        } else {
            try await change("INSERT INTO members VALUES (?, ?, ?, ?)", [id, space, user, tag()])
        }
    }

    // MARK: Rest

    /// Ends all faults, waits until everything is in sync, and compares.
    private func settle() async throws {
        timeline.add("check", "all faults end")
        rests += 1
        let beginning = runtime.now
        backend.mood = .works
        runtime.setClock(of: backend.process, ahead: .zero)
        runtime.spare(backend.process)
        service.heal()
        backend.tokenLifetime = .seconds(3600)
        for device in devices {
            device.link.heal()
            runtime.setDisk(of: device.link.process, isFull: false)
            runtime.setClock(of: device.link.process, ahead: .zero)
            runtime.spare(device.link.process)
            device.launch()
            device.connect()
        }
        try await waitUntilInSync(within: Self.patience, after: "all faults", since: beginning)
        // Whether anybody is told late of what others write is seen best when nothing else happens.
        for device in devices { device.write(SeededGenerator(seed: plan.next())) }
        var random = SeededGenerator(seed: plan.next())
        try await administer(count: 3, &random)
        try await waitUntilInSync(within: Self.promptness, after: "writes in calm", since: beginning)
        for device in devices {
            try checkWrites(of: device)
            device.settle()
        }
        try checkMemory()
        timeline.add("check", "everything is in sync, \(history.lastCommit) commits")
    }

    /// Waits until every device has what the source has.
    ///
    /// - Parameters:
    ///   - seconds: How long that may take.
    ///   - event: What it follows.
    ///   - beginning: Since when there are no faults, in nanoseconds of the simulation.
    /// - Throws: ``Violation``
    private func waitUntilInSync(within seconds: Double, after event: String, since beginning: UInt64) async throws {
        let deadline = runtime.now + UInt64(seconds * 1e9)
        var difference: String?
        repeat {
            for device in devices {
                // It may have died just before the faults ended.
                device.launch()
                device.look()
            }
            try await Task.sleep(for: .seconds(5))
            difference = try await firstDifference(since: beginning)
        } while difference != nil && runtime.now < deadline
        if let difference { throw Violation("not in sync \(Int(seconds)) s after \(event): \(difference)") }
    }

    private func checkMemory() throws {
        let service = [service.node?.process].compactMap(\.self)
        for process in devices.map(\.link.process) + service + [backend.process] {
            let bytes = runtime.memory(of: process)
            timeline.add("memory", "\(process.name) has \(bytes >> 10) KiB")
            if let violation = memory.measure(process.id, bytes) { throw Violation("\(process.name): \(violation)") }
        }
    }

    /// What a device has that plain SQL does not say, or the other way round.
    private func firstDifference(since beginning: UInt64) async throws -> String? {
        for device in devices {
            guard let report = device.report else { return "\(device.name) does not answer" }
            guard let user = device.user, report.user == user else { return "\(device.name) has no user" }
            if report.waiting > 0 { return "\(device.name) has \(report.waiting) writes to upload: \(report.status)" }
            if !report.isConnected { return "\(device.name) is not connected: \(report.status)" }
            if let waits = report.waits { return "\(device.name) still waits: \(waits)" }
            for (table, _) in WorldSchema.tables {
                let columns = report.columns[table] ?? []
                let expected = try await backend.rows(of: table, for: user, columns)
                let shown = report.rows[table] ?? []
                if expected == shown { continue }
                if let missing = expected.first(where: { !shown.contains($0) }) {
                    return "\(device.name) lacks of \(table): \(missing); \(report.status)"
                }
                if let surplus = shown.first(where: { !expected.contains($0) }) {
                    return "\(device.name) has too much of \(table): \(surplus); \(report.status)"
                }
            }
            let docs = try await backend.rows(
                of: WorldSchema.docs,
                for: user,
                report.columns[WorldSchema.docs] ?? []
            )
            if let difference = device.difference(ofDocs: docs, since: beginning) {
                return "\(device.name) has \(difference); \(report.status)"
            }
            if let id = report.outdatedDoc { return "\(device.name) shows docs/\(id) as an older operation has it" }
        }
        return nil
    }

    /// Each write that was committed is in the source once, in order, unless it was rejected or its row was not there any more.
    private func checkWrites(of device: SimulatedDevice) throws {
        if let write = device.writes.first(where: { $0.isUploadedAfterClearing(in: history) }) {
            throw Violation("the write \(write.name) of \(device.name) was uploaded after its user had signed out")
        }
        let rejected = Set(device.writes.filter { backend.rejected.contains($0.name) }.map(\.transaction))
        var last = -1
        for write in device.writes {
            guard let tag = write.tag else {
                if write.isKept(in: history), history.has(write.key), !isOfRejected(write.key, device),
                    !rejected.contains(write.transaction)
                {
                    throw Violation("the deletion of \(write.key.table)/\(write.key.id) by \(device.name) is lost")
                }
                continue
            }
            let count = history.commitsOfTags[tag]?.count ?? 0
            if count > 1 { throw Violation("the write \(tag) of \(device.name) was applied \(count) times") }
            if count == 1, write.outcome == .failed {
                throw Violation("the write \(tag) of \(device.name) was rolled back, and is in the source")
            }
            if count == 1, rejected.contains(write.transaction) {
                throw Violation("the write \(tag) of \(device.name) was rejected, and is in the source")
            }
            if let order = history.orderOfTags[tag], !write.isTakenBack(in: history) {
                if order < last {
                    throw Violation("the write \(tag) of \(device.name) was applied before an earlier one")
                }
                last = order
            }
            if count == 0, write.isKept(in: history), write.kind == .insert, !rejected.contains(write.transaction) {
                throw Violation("the write \(tag) of \(device.name) is lost")
            }
            if count == 0, write.isKept(in: history), write.kind == .update, !rejected.contains(write.transaction),
                history.has(write.key), history.deletions[write.key] == nil, !isOfRejected(write.key, device)
            {
                throw Violation("the write \(tag) of \(device.name) is lost")
            }
        }
    }

    private func isOfRejected(_ key: SourceHistory.Key, _ device: SimulatedDevice) -> Bool {
        device.writes.contains { $0.key == key && backend.rejected.contains($0.name) }
    }
}
