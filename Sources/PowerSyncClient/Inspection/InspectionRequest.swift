package import PowerSyncProtocol

/// What can be asked of an app that listens for inspection (docs/inspect.md "The socket").
package enum InspectionRequest: Sendable, Equatable {
    /// What the database holds, does and waits for.
    case status
    /// The same, now and after each change.
    case follow
    /// The rows of a statement that only reads.
    case query(InspectionQuery)
    /// A subscription to a stream, which lasts until it is ended or the app listens no more.
    case subscribe(InspectedStream, ttl: Double?, priority: Int32?)
    /// The end of the subscription that was made by ``subscribe(_:ttl:priority:)``, or of all, those of the app, too.
    case unsubscribe(InspectedStream, all: Bool)

    /// Reads the method and parameters of a request.
    ///
    /// - Throws: ``RPCError`` for a method that does not exist, and for parameters that are missing, unknown or of another type.
    package init(method: String, parameters: JSONObject) throws(RPCError) {
        var arguments = parameters
        switch method {
        case "status": self = .status
        case "follow": self = .follow
        case "query":
            let sql = try arguments.takeText("sql")
            guard let sql else { throw RPCError(.invalidParameters, "sql is missing") }
            self = .query(
                InspectionQuery(
                    sql: sql,
                    parameters: try arguments.takeValues("parameters") ?? [],
                    limit: try arguments.takeInteger("limit", in: 1...InspectionQuery.greatestLimit)
                )
            )
        case "subscribe":
            self = .subscribe(
                try arguments.takeStream(),
                ttl: try arguments.takeNumber("ttl"),
                priority: try arguments.takeInteger("priority", in: 0...3).map(Int32.init)
            )
        case "unsubscribe": self = .unsubscribe(try arguments.takeStream(), all: try arguments.takeFlag("all") ?? false)
        default: throw RPCError(.noSuchMethod, "There is no method \(method)")
        }
        try arguments.checkIsEmpty()
    }

    /// The name of the method.
    package var method: String {
        switch self {
        case .status: "status"
        case .follow: "follow"
        case .query: "query"
        case .subscribe: "subscribe"
        case .unsubscribe: "unsubscribe"
        }
    }

    /// The parameters, as ``init(method:parameters:)`` reads them.
    package var parameters: JSONObject {
        var object: JSONObject = [:]
        switch self {
        case .status, .follow: break
        case .query(let query):
            object["sql"] = .string(query.sql)
            if !query.parameters.isEmpty { object["parameters"] = .array(query.parameters) }
            object["limit"] = query.limit.map { .integer(Int64($0)) }
        case .subscribe(let stream, let ttl, let priority):
            stream.add(to: &object)
            object["ttl"] = ttl.map { .double($0) }
            object["priority"] = priority.map { .integer(Int64($0)) }
        case .unsubscribe(let stream, let all):
            stream.add(to: &object)
            if all { object["all"] = true }
        }
        return object
    }
}

/// A stream that is named by a request.
package struct InspectedStream: Sendable, Hashable {
    /// The name in the sync config.
    package let name: String
    /// The parameters; `nil` for none.
    package let parameters: JSONObject?

    /// Names a stream.
    package init(name: String, parameters: JSONObject?) {
        self.name = name
        self.parameters = parameters
    }

    fileprivate func add(to object: inout JSONObject) {
        object["stream"] = .string(name)
        object["parameters"] = parameters.map { .object($0) }
    }
}

/// A statement that only reads, and how many of its rows are wanted.
package struct InspectionQuery: Sendable, Equatable {
    /// The most rows that can be asked for.
    package static let greatestLimit = 10_000
    /// The rows of an answer when no limit is given.
    package static let defaultLimit = 1_000

    /// One statement.
    package let sql: String
    /// The values of its parameters, by position.
    package let parameters: [ExactJSON]
    /// The most rows of the answer; `nil` means ``defaultLimit``.
    package let limit: Int?

    /// Creates a query.
    package init(sql: String, parameters: [ExactJSON] = [], limit: Int? = nil) {
        self.sql = sql
        self.parameters = parameters
        self.limit = limit
    }
}

// The parameters of a request, of which each is taken once.
extension JSONObject {
    /// Takes a parameter; one that is null is not there.
    private mutating func take(_ name: String) -> ExactJSON? {
        defer { while self[name] != nil { self[name] = nil } }
        let value = self[name]
        return value == .null ? nil : value
    }

    private func mistaken(_ name: String, _ kind: String) -> RPCError {
        RPCError(.invalidParameters, "\(name) has to be \(kind)")
    }

    fileprivate mutating func takeText(_ name: String) throws(RPCError) -> String? {
        switch take(name) {
        case nil: return nil
        case .string(let text)?: return text
        default: throw mistaken(name, "a text")
        }
    }

    fileprivate mutating func takeFlag(_ name: String) throws(RPCError) -> Bool? {
        switch take(name) {
        case nil: return nil
        case .bool(let flag)?: return flag
        default: throw mistaken(name, "true or false")
        }
    }

    fileprivate mutating func takeInteger(_ name: String, in range: ClosedRange<Int>) throws(RPCError) -> Int? {
        switch take(name) {
        case nil: return nil
        case .integer(let integer)? where range.contains(Int(clamping: integer)): return Int(clamping: integer)
        default: throw mistaken(name, "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
    }

    fileprivate mutating func takeNumber(_ name: String) throws(RPCError) -> Double? {
        switch take(name) {
        case nil: return nil
        case .integer(let integer)?: return Double(integer)
        case .double(let double)?: return double
        default: throw mistaken(name, "a number")
        }
    }

    fileprivate mutating func takeValues(_ name: String) throws(RPCError) -> [ExactJSON]? {
        switch take(name) {
        case nil: return nil
        case .array(let values)?: return values
        default: throw mistaken(name, "an array")
        }
    }

    fileprivate mutating func takeStream() throws(RPCError) -> InspectedStream {
        let name = try takeText("stream")
        guard let name else { throw RPCError(.invalidParameters, "stream is missing") }
        switch take("parameters") {
        case nil: return InspectedStream(name: name, parameters: nil)
        case .object(let parameters)?: return InspectedStream(name: name, parameters: parameters)
        default: throw mistaken("parameters", "an object")
        }
    }

    /// Refuses what was not taken.
    fileprivate func checkIsEmpty() throws(RPCError) {
        guard let unknown = members.first else { return }
        throw RPCError(.invalidParameters, "There is no parameter \(unknown.name)")
    }
}
