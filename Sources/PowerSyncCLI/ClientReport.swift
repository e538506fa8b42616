import ArgumentParser
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncSyncConfig
import PowerSyncTerminal

/// Options that describe a client.
struct ClientOptions: ParsableArguments {
    @Option(name: .customLong("as"), help: "The user: the `sub` claim of the token.")
    var user: String?

    @Option(
        help: ArgumentHelp("Another claim of the token; the value is JSON, or else a text.", valueName: "name=value")
    )
    var claim: [String] = []

    @Option(
        help: ArgumentHelp("A connection parameter; the value is JSON, or else a text.", valueName: "name=value")
    )
    var param: [String] = []

    @Option(help: ArgumentHelp("A stream to subscribe to, with JSON parameters.", valueName: "stream[={…}]"))
    var subscribe: [String] = []

    /// The request of the client.
    func request() throws -> SyncPlanRequest {
        var claims = try JSONObject(pairs: claim, option: "--claim")
        claims["sub"] = user.map(ExactJSON.string)
        let subscriptions = try subscribe.map { text in
            let (name, parameters) = text.splitAtEqualsSign
            switch parameters.map(ExactJSON.init(typed:)) {
            case nil: return StreamingSyncRequest.Subscription(stream: name)
            case .object(let object): return StreamingSyncRequest.Subscription(stream: name, parameters: object)
            case .some: throw ValidationError("--subscribe \(name)=… needs a JSON object, such as {\"id\":1}")
            }
        }
        return SyncPlanRequest(
            tokenPayload: claims,
            parameters: try JSONObject(pairs: param, option: "--param"),
            streams: StreamingSyncRequest.Streams(subscriptions: subscriptions)
        )
    }

    /// Checks that all streams are there: a service ignores a subscription to one that is not.
    func checkSubscriptions(to plan: SyncPlan) throws {
        let streams = plan.streams.map(\.name)
        for text in subscribe {
            let name = text.splitAtEqualsSign.name
            guard !streams.contains(name) else { continue }
            let hint = NearName.hint(for: name, among: streams) ?? "There are \(streams.joined(separator: ", "))."
            throw ValidationError("--subscribe \(name): the config has no such stream. \(hint)")
        }
    }
}

extension JSONObject {
    /// The members that an option has given as `name=value`, where the value is JSON, or else a text.
    ///
    /// - Throws: `ValidationError`.
    init(pairs: [String], option: String) throws {
        self.init()
        for pair in pairs {
            guard case (let name, let value?) = pair.splitAtEqualsSign else {
                throw ValidationError("\(option) \(pair) has no value: write name=value")
            }
            self[name] = ExactJSON(typed: value)
        }
    }
}

extension String {
    /// What is before and after the first `=`; no value without one.
    fileprivate var splitAtEqualsSign: (name: String, value: String?) {
        guard let place = firstIndex(of: "=") else { return (self, nil) }
        return (String(self[..<place]), String(self[index(after: place)...]))
    }
}

/// The buckets and the numbers of rows that a client gets from a source.
struct ClientReport: Encodable {
    /// One bucket.
    struct Bucket: Encodable {
        var bucket: String
        var priority: Int32
        var rows: Int
        var reasons: [String]
    }

    /// How many rows a table has on the client.
    struct Table: Encodable {
        var table: String
        var rows: Int
    }

    /// The user.
    var user: String
    /// What the request ends with.
    var error: String?
    /// The buckets in the order of the config.
    var buckets: [Bucket] = []
    /// The tables on the client.
    var tables: [Table] = []
    /// Subscriptions and rows that cannot be evaluated.
    var notes: [String]

    /// Reads the source twice: what leads to buckets, then what is in them.
    init(_ user: String, _ request: SyncPlanRequest, of plan: SyncPlan, from source: any SourceModule) async throws {
        self.user = user
        var plan = plan
        plan.defaultSchema = source.defaultSchema
        let read = NIOLockedValueBox(Rehearsal(plan))
        try await source.forEachRow(readBy: plan) { row, table in
            read.withLockedValue { $0.add(row, of: table, keepsContent: false) }
        }
        let rehearsal = read.withLockedValue(\.self)
        let reply = await rehearsal.reply(to: request)
        notes = reply.streams.flatMap { stream in stream.errors.map { "stream \(stream.name): \($0.message)" } }
        notes += rehearsal.problems.map(\.description)
        if let error = reply.error {
            self.error = "\(error)"
            notes += error.breakdown.map { "\($0.name): \($0.count)" }
            return
        }
        let reasons = await rehearsal.reasons(for: request)
        let counted = NIOLockedValueBox(BucketCensus(plan, buckets: reply.buckets))
        try await source.forEachRow(readBy: plan) { row, table in counted.withLockedValue { $0.add(row, of: table) } }
        let census = counted.withLockedValue(\.self)
        buckets = reply.buckets.map { bucket in
            Bucket(
                bucket: bucket.name.rawValue,
                priority: bucket.priority.rawValue,
                rows: census.bucketCounts[bucket.name] ?? 0,
                reasons: reasons[bucket.name] ?? []
            )
        }
        tables = census.tableCounts.map { Table(table: $0.table, rows: $0.count) }
        notes += census.problems.map(\.description)
    }

    /// The report as lines: a table of the buckets, then how many rows of each table.
    var lines: [String] {
        var lines: [String] = []
        if let error {
            lines.append("\(user): the request ends with \(error)")
        } else {
            let rows = tables.reduce(0) { $0 + $1.rows }
            lines.append("\(user): \(buckets.count.counted("bucket")), \(rows.counted("row"))")
            let width = buckets.map(\.bucket.count).max() ?? 0
            for bucket in buckets {
                let name = bucket.bucket + String(repeating: " ", count: width - bucket.bucket.count)
                let more = bucket.reasons.count > 1 ? " and \(bucket.reasons.count - 1) more" : ""
                lines.append(
                    "  \(name)  priority \(bucket.priority)  rows \(bucket.rows)  \(bucket.reasons.first ?? "")\(more)"
                )
            }
            for table in tables { lines.append("  \(table.table): \(table.rows)") }
        }
        return lines + notes.map { "  note: \($0)" }
    }
}
