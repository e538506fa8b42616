import Foundation
import PowerSync
import PowerSyncHTTP
import TestSupport

/// A device with the app: one process at a time over the same files, which another user may take over.
///
/// `@unchecked`: the simulation has one thread.
final class SimulatedDevice: @unchecked Sendable {
    let name: String
    let link: SimulatedLink
    /// Whether the app runs.
    private(set) var isRunning = false
    /// The user; `nil` while nobody is signed in.
    private(set) var user: String?
    /// All that was written on the device, in order.
    private(set) var writes: [DeviceWrite] = []
    /// The version of the app.
    private(set) var schemaVersion = 0
    /// What ``look()`` has found last; `nil` while it looks.
    private(set) var report: Report?

    /// What a device has when everything is at rest.
    struct Report {
        /// The rows of each table, as text, in the order of their ids.
        var rows: [String: [String]]
        /// The columns of each table, in order.
        var columns: [String: [String]]
        /// A row of docs that is not shown as the newest of its operations has it.
        var outdatedDoc: String?
        /// How many writes wait for their upload.
        var waiting: Int
        var status: String
        var isConnected: Bool
        /// What the connection waits for, or whose writes it uploads; `nil` for nothing.
        var waits: String?
        var user: String?
    }

    let world: World
    /// What the device subscribes to.
    var subscriptions = DeviceSubscriptions()
    private let files: ProcessFiles
    private let checkpointMode: CheckpointMode
    private var launches = 0
    /// The launch whose files the next one begins with, in place of those of the last one.
    private var restoredLaunch: Int?
    /// Decides what the disk loses, when the machine has lost its power.
    private var powerLoss: UInt64?
    /// The first launch whose files are those of the user.
    private var firstLaunchOfUser = 1
    /// The launch in which the user has signed in; 0 for the first user.
    private var launchOfUser = 0
    /// How many writes there were when each launch began.
    private var writesAtLaunches: [Int: Int] = [:]
    private(set) var database: (any PowerSyncDatabaseProtocol)?
    private var view = DeviceView()
    /// Whether the app has asked for a connection, and was not told that it cannot have one.
    private(set) var wantsConnection = false
    var waits = WaitCheck()
    /// What an app of a world that is broken on purpose keeps.
    private var kept: [[UInt8]] = []
    /// Writes that the view may not have from the source yet.
    private var ownWrites: [SourceHistory.Key: [DeviceWrite]] = [:]
    /// Another one after each sign-out: what was read before does not count.
    private(set) var epoch = 0
    private var lastTransaction = 0
    private var lastTag = 0
    /// The user that the device is being given to; a process that dies meanwhile does it again.
    private var nextUser: String?

    init(
        _ name: String,
        user: String,
        folder: String,
        checkpointMode: CheckpointMode,
        in world: World
    ) {
        self.checkpointMode = checkpointMode
        self.name = name
        self.user = user
        files = ProcessFiles(folder: folder, name: "app.db")
        self.world = world
        link = SimulatedLink(process: world.runtime.makeProcess(name))
    }

    // MARK: Processes

    /// Starts the app.
    func launch() {
        guard !isRunning else { return }
        isRunning = true
        let earlier = restoredLaunch ?? launches
        if let restoredLaunch { forgetEverything(since: restoredLaunch) }
        // What the disk had when the launch began, it has.
        if powerLoss != nil { forgetEverything(since: launches - 1) }
        launches += 1
        writesAtLaunches[launches] = writes.count
        do {
            let unsynced = try files.begin(launches, from: earlier, losing: powerLoss)
            if powerLoss != nil { world.timeline.add(name, "may have lost any of \(unsynced) writes to its disk") }
        } catch {
            world.fail("\(name) cannot copy its files: \(error)")
        }
        (restoredLaunch, powerLoss) = (nil, nil)
        let place = files.path(launches)
        let process = world.runtime.makeProcess("\(name).\(launches)")
        link.process = process
        world.timeline.add(name, "starts")
        _ = world.runtime.whenDead(process) { [self] in
            isRunning = false
            wantsConnection = false
            subscriptions.release(at: world.runtime.now)
            link.cut()
            world.timeline.add(name, "has died")
            world.runtime.after(.seconds(1 + launches * 37 % 200)) { [self] in launch() }
        }
        world.runtime.run(as: process) {
            let database = SyncedDatabase(
                schema: WorldSchema.client(schemaVersion),
                dbFilename: place,
                logger: ClientLog(name: name, world: world),
                environment: SyncEnvironment(
                    transport: SimulatedTransport(network: world.network, link: link, service: world.service)
                )
            )
            self.database = database
            _ = Task { await self.watch(database) }
            _ = Task { await self.watchWaits(database) }
            if let nextUser { giveTo(nextUser, soft: false) } else { connect() }
        }
    }

    /// Ends the app in the middle of whatever it does.
    func kill() { world.runtime.kill(link.process) }

    /// Ends the app when it has changed its files a number of times.
    func kill(afterFileChanges count: Int) { world.runtime.kill(link.process, afterFileChanges: count) }

    /// Ends the app, with the machine: of what was written to files, and not synced, anything may be lost.
    ///
    /// Nothing happens when the device was given to another user since the app has begun, which might come undone.
    func losePower(_ random: SeededGenerator) {
        guard nextUser == nil, launchOfUser < launches, isRunning else { return }
        var random = random
        powerLoss = random.next()
        world.timeline.add(name, "loses its power")
        kill()
    }

    /// Ends the app; the device goes on with the files that it had a launch ago, as one does that is restored from a backup.
    ///
    /// What it has written since, and not uploaded, is gone. Nothing happens when those files are of another user.
    func restore() {
        guard nextUser == nil, launches > firstLaunchOfUser, isRunning else { return }
        restoredLaunch = launches - 1
        world.timeline.add(name, "is put back to a backup")
        kill()
    }

    private func forgetEverything(since launch: Int) {
        epoch += 1
        view = DeviceView()
        subscriptions.doubt()
        for write in writes[(writesAtLaunches[launch + 1] ?? 0)...] { write.outcome = .unknown }
        // What has been settled since may wait for its upload once more.
        ownWrites = Dictionary(grouping: writes, by: \.key)
        // Of a launch that was put back, there is none before.
        firstLaunchOfUser = launches + 1
    }

    /// Does something as the app.
    func run(_ body: @escaping @Sendable (any PowerSyncDatabaseProtocol) async throws -> Void) {
        guard isRunning, let database else { return }
        let name = name
        world.runtime.run(as: link.process) {
            _ = Task { [world] in
                do { try await body(database) } catch { world.timeline.add(name, "fails: \(error)") }
            }
        }
    }

    // MARK: What apps do

    /// Connects as the user, if one is signed in.
    func connect() {
        guard let user else { return }
        run { [self] database in
            try await connect(database, as: user)
        }
    }

    /// Disconnects.
    func disconnect() {
        run { [self] database in
            wantsConnection = false
            try await database.disconnect()
        }
    }

    /// Gives the app another version, with other columns, while it runs, and connects it again.
    ///
    /// - Parameter asConnected: Whether it tries without disconnecting first, which is an error.
    func updateSchema(asConnected: Bool) {
        run { [self] database in
            let version = (schemaVersion + 1) % WorldSchema.versions
            if !asConnected {
                wantsConnection = false
                try await database.disconnect()
            }
            try await database.updateSchema(schema: WorldSchema.client(version))
            schemaVersion = version
            world.timeline.add(name, "has version \(version)")
            connect()
        }
    }

    private func connect(_ database: any PowerSyncDatabaseProtocol, as user: String) async throws {
        try await database.connect(connector: makeConnector(of: user), options: options)
        wantsConnection = true
    }

    private var options: ConnectOptions {
        var options = ConnectOptions(crudThrottle: 1, retryDelay: 5)
        options.uploadRejectionPolicy = .skip
        options.checkpointMode = checkpointMode
        return options
    }

    private func makeConnector(of user: String) throws -> HTTPBackendConnector {
        var options = HTTPBackendOptions()
        options.httpClient = PowerSyncHTTPClient(SimulatedExchange(world.network, over: link, to: world.backend))
        return try HTTPBackendConnector(uploadURL: "https://backend.invalid/upload", options: options) {
            [world, link] in
            let token = try await world.network.call(over: link, to: { world.backend.process }) {
                try world.backend.token(for: user)
            }
            return PowerSyncCredentials(endpoint: "https://service.invalid", token: token)
        }
    }

    /// Signs out, with everything that the device has, and in as another user.
    func changeUser(to next: String, soft: Bool) {
        guard isRunning, nextUser == nil else { return }
        giveTo(next, soft: soft)
    }

    private func giveTo(_ next: String, soft: Bool) {
        (nextUser, user, wantsConnection) = (next, nil, false)
        epoch += 1
        forgetWaitingWrites()
        run { [self] database in
            do {
                try await database.disconnectAndClear(clearLocal: true, soft: soft)
            } catch {
                // As when the disk is full: nothing was deleted.
                world.runtime.after(.seconds(10), for: link.process) { [self] in giveTo(next, soft: soft) }
                throw error
            }
            // What was written at the last moment, too.
            forgetWaitingWrites()
            for write in writes where write.clearedAt == nil { write.clearedAt = world.runtime.now }
            epoch += 1
            subscriptions.clear()
            (firstLaunchOfUser, launchOfUser) = (launches, launches)
            (view, user, nextUser) = (DeviceView(), next, nil)
            try await connect(database, as: next)
        }
    }

    /// Signing out may remove writes that were not uploaded.
    private func forgetWaitingWrites() {
        for write in writes where write.commit(in: world.history) == nil { write.outcome = .unknown }
    }

    /// Writes something: a few rows in one transaction.
    func write(_ random: SeededGenerator) {
        guard let user else { return }
        run { [self] database in
            lastTransaction += 1
            let transaction = lastTransaction
            let first = writes.count
            do {
                try await database.writeTransaction { [self] context in
                    var random = random
                    for _ in 0..<(random.number(below: 5) == 0 ? 2 + random.number(below: 5) : 1) {
                        try writeOne(user, transaction, &random, context)
                    }
                }
                for write in writes[first...] where write.transaction == transaction { write.outcome = .committed }
            } catch {
                for write in writes[first...] where write.transaction == transaction { write.outcome = .failed }
                throw error
            }
        }
    }

    /// Runs on the writer, in the order in which transactions are committed.
    private func writeOne(
        _ user: String,
        _ transaction: Int,
        _ random: inout SeededGenerator,
        _ context: any ConnectionContext
    ) throws {
        let table = ["todos", "todos", "todos", "notes", "lists"][random.number(below: 5)]
        let ids = try context.getAll(sql: "SELECT id FROM \(table) ORDER BY id", parameters: nil) {
            try $0.getString(index: 0)
        }
        lastTag += 1
        let tag = "\(name)#\(lastTag)"
        let choice = random.number(below: 10)
        if choice < 5 || ids.isEmpty {
            let spaces = try context.getAll(sql: "SELECT id FROM spaces ORDER BY id", parameters: nil) {
                try $0.getString(index: 0)
            }
            guard table == "notes" || !spaces.isEmpty else { return }
            let id = "\(name)-\(lastTag)"
            let scope = table == "notes" ? user : spaces[random.number(below: spaces.count)]
            note(.insert, table, id, tag, transaction)
            try noteCauses(of: tag, in: table, scope, &random, context)
            switch table {
            case "notes":
                try context.execute(
                    sql: "INSERT INTO notes(id, owner_id, body, tag) VALUES (?, ?, ?, ?)",
                    parameters: [id, scope, "text \(tag)", tag]
                )
            case "lists":
                try context.execute(
                    sql: "INSERT INTO lists(id, space_id, name, tag) VALUES (?, ?, ?, ?)",
                    parameters: [id, scope, "list \(tag)", tag]
                )
            default:
                try context.execute(
                    sql: "INSERT INTO todos(id, space_id, list_id, tag) VALUES (?, ?, ?, ?)",
                    parameters: [id, scope, "none", tag]
                )
            }
        } else if choice < 8 {
            let id = ids[random.number(below: ids.count)]
            note(.update, table, id, tag, transaction)
            let scope = try context.get(
                sql: "SELECT \(WorldSchema.scope(of: table)) FROM \(table) WHERE id = ?",
                parameters: [id]
            ) { try $0.getString(index: 0) }
            try noteCauses(of: tag, in: table, scope, &random, context)
            try context.execute(sql: "UPDATE \(table) SET tag = ? WHERE id = ?", parameters: [tag, id])
        } else {
            let id = ids[random.number(below: ids.count)]
            note(.delete, table, id, nil, transaction)
            try context.execute(sql: "DELETE FROM \(table) WHERE id = ?", parameters: [id])
        }
    }

    /// Notes two rows that the app shows when it writes another one of the same space or user.
    private func noteCauses(
        of tag: String,
        in table: String,
        _ scope: String,
        _ random: inout SeededGenerator,
        _ context: any ConnectionContext
    ) throws {
        let shown = try context.getAll(
            sql: "SELECT id, tag FROM \(table) WHERE \(WorldSchema.scope(of: table)) = ? ORDER BY id",
            parameters: [scope]
        ) { try SeenRow(key: SourceHistory.Key(table: table, id: $0.getString(index: 0)), tag: $0.getString(index: 1)) }
        world.noteCauses(of: tag, among: shown, &random)
    }

    private func note(_ kind: DeviceWrite.Kind, _ table: String, _ id: String, _ tag: String?, _ transaction: Int) {
        world.runtime.withoutOwner {
            let write = DeviceWrite(kind, SourceHistory.Key(table: table, id: id), tag: tag, transaction: transaction)
            writes.append(write)
            ownWrites[write.key, default: []].append(write)
        }
        world.timeline.add(name, "\(kind) \(table)/\(id) \(tag ?? "")")
    }

    // MARK: What the device shows

    /// Looks at all rows whenever they have changed, as watch queries do.
    private func watch(_ database: any PowerSyncDatabaseProtocol) async {
        let tables = Set(WorldSchema.tables.map(\.name) + [WorldSchema.docs])
        while true {
            do {
                for try await _ in database.onChange(tables: tables, throttle: 0.05, triggerImmediately: true) {
                    try await check(database)
                }
            } catch let violation as Violation {
                return world.fail("\(name) shows what it must not: \(violation)")
            } catch {
                world.timeline.add(name, "cannot watch: \(error)")
            }
            guard (try? await Task.sleep(for: .seconds(10))) != nil else { return }
        }
    }

    private func check(_ database: any PowerSyncDatabaseProtocol) async throws {
        let epoch = epoch
        guard let user else { return }
        let before = certainWrites
        let (rows, awaitingComplete) = try await database.readTransaction { context in
            var rows: [SourceHistory.Key: String] = [:]
            for table in WorldSchema.tables.map(\.name) + [WorldSchema.docs] {
                let pairs = try context.getAll(sql: "SELECT id, tag FROM \(table)", parameters: nil) { cursor in
                    (try cursor.getString(index: 0), cursor.getStringOptional(index: 1) ?? "NULL")
                }
                for (id, tag) in pairs { rows[SourceHistory.Key(table: table, id: id)] = tag }
            }
            let updated = try context.getAll(
                sql: "SELECT row_id FROM ps_updated_rows WHERE row_type = ?",
                parameters: [WorldSchema.docs]
            ) { SourceHistory.Key(table: WorldSchema.docs, id: try $0.getString(index: 0)) }
            return (rows, Set(updated))
        }
        guard epoch == self.epoch else { return }
        world.checks += 1
        try world.runtime.withoutOwner {
            if let violation = world.firstBreakOfCausality(in: rows, own: ownWrites) { throw Violation(violation) }
            let still = certainWrites
            let shown = before.filter { still[$0.key] === $0.value }
            try view.show(
                rows,
                to: user,
                world.history,
                DeviceView.Writes(own: ownWrites, shown: shown, awaitingComplete: awaitingComplete),
                mixed: subscriptions.spacesOfTwoStreams
            )
        }
        if world.isBroken(.memory) { kept.append(Array(repeating: 0, count: 200_000)) }
    }

    /// The last write of each row, if it was committed here, and is shown until the source has it.
    private var certainWrites: [SourceHistory.Key: DeviceWrite] {
        ownWrites.compactMapValues { writes in
            guard let last = writes.last, last.isKept(in: world.history), last.clearedAt == nil else { return nil }
            // One of a row that was not there any more changes nothing, and nothing says when the device knows.
            if world.backend.seen.contains(last.name), last.commit(in: world.history) == nil { return nil }
            return writes.contains(where: isRejected) ? nil : last
        }
    }

    /// Whether the backend has rejected a write, or another one of its transaction.
    private func isRejected(_ write: DeviceWrite) -> Bool {
        !world.backend.rejected.isEmpty
            && writes.contains { $0.transaction == write.transaction && world.backend.rejected.contains($0.name) }
    }

    /// Looks at everything, for ``report``.
    func look() {
        report = nil
        run { [self] database in
            var (rows, columns): ([String: [String]], [String: [String]]) = ([:], [:])
            for table in WorldSchema.tables.map(\.name) + [WorldSchema.docs] {
                columns[table] = try await database.getAll(
                    sql: "SELECT name FROM pragma_table_info(?) ORDER BY name",
                    parameters: [table]
                ) { try $0.getString(index: 0) }
                rows[table] = try await database.getAll(sql: "SELECT * FROM \(table) ORDER BY id", parameters: nil) {
                    cursor in
                    cursor.columnNames.map { "\($0.key)=\(cursor.getStringOptional(index: $0.value) ?? "NULL")" }
                        .sorted()
                        .joined(separator: " ")
                }
            }
            let waiting = try await database.get(sql: "SELECT count(*) FROM ps_crud", parameters: nil) {
                try $0.getInt(index: 0)
            }
            let outdatedDoc = try await database.getOptional(
                sql: """
                    SELECT shown.id
                    FROM ps_data__docs AS shown JOIN (
                        SELECT row_id, data, max(op_id) FROM ps_oplog WHERE row_type = 'docs' GROUP BY row_id
                    ) AS newest ON newest.row_id = shown.id
                    WHERE shown.data IS NOT newest.data LIMIT 1
                    """,
                parameters: nil
            ) { try $0.getString(index: 0) }
            let activity = database.currentStatus.activity
            report = Report(
                rows: rows,
                columns: columns,
                outdatedDoc: outdatedDoc,
                waiting: waiting,
                status: "\(database.currentStatus)",
                isConnected: database.currentStatus.connected,
                waits: activity.download == nil && activity.upload == nil ? nil : "\(activity)",
                user: user
            )
        }
    }

    /// Everything is at rest: the view begins anew with what the source has.
    func settle() {
        ownWrites = [:]
        report = nil
    }
}
