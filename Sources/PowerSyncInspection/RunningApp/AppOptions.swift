import ArgumentParser
import PowerSyncClient
import PowerSyncProtocol

/// What is asked of a running app.
struct AppOptions: ParsableArguments {
    @Option(
        help: "The socket of a running app, instead of a file: where it listens for inspection.",
        completion: .file()
    )
    var app: String?

    @Flag(help: "With --app: print the status again after each change, until the app listens no more.")
    var follow = false

    @Option(help: "With --app: print the rows of a statement that only reads.")
    var sql: String?

    @Option(help: "With --sql: the most rows, 1 to 10000.")
    var limit: Int?

    @Option(help: "With --app: subscribe to a stream, until that is ended or the app listens no more.")
    var subscribe: String?

    @Option(help: "With --app: end the subscription that --subscribe has made.")
    var unsubscribe: String?

    @Option(help: "The parameters as JSON: an object for a stream, an array for a statement.")
    var parameters: String?

    @Flag(help: "With --unsubscribe: end the subscriptions of the app to this stream, too.")
    var all = false

    @Flag(help: "With --app: answer the Model Context Protocol over standard input and output, for an assistant.")
    var mcp = false

    @Flag(name: .customLong("allow-subscriptions"), help: "With --mcp: let the assistant subscribe and unsubscribe.")
    var allowsSubscriptions = false

    /// Whether something is given that means something with ``app`` only.
    private var asks: Bool {
        follow || sql != nil || limit != nil || subscribe != nil || unsubscribe != nil || parameters != nil || all
            || mcp
            || allowsSubscriptions
    }

    mutating func validate() throws {
        guard app != nil else {
            guard !asks else { throw ValidationError("Name the socket of the app with --app.") }
            return
        }
        let asked = [follow, sql != nil, subscribe != nil, unsubscribe != nil, mcp].count { $0 }
        guard asked <= 1 else {
            throw ValidationError("Give one of --follow, --sql, --subscribe, --unsubscribe and --mcp.")
        }
        guard limit == nil || sql != nil else { throw ValidationError("--limit needs --sql.") }
        guard !all || unsubscribe != nil else { throw ValidationError("--all needs --unsubscribe.") }
        guard !allowsSubscriptions || mcp else { throw ValidationError("--allow-subscriptions needs --mcp.") }
        _ = try request()
    }

    /// What the app is asked.
    ///
    /// - Throws: `ValidationError` for parameters and limits that are none.
    func request() throws -> InspectionRequest {
        var object: JSONObject = [:]
        if let parameters {
            do {
                object["parameters"] = try ExactJSON(parsing: parameters)
            } catch {
                throw ValidationError("--parameters is not JSON: \(error)")
            }
        }
        let method: String
        switch (sql, subscribe, unsubscribe) {
        case (let sql?, _, _):
            method = "query"
            object["sql"] = .string(sql)
            object["limit"] = limit.map { .integer(Int64($0)) }
        case (_, let stream?, _):
            method = "subscribe"
            object["stream"] = .string(stream)
        case (_, _, let stream?):
            method = "unsubscribe"
            object["stream"] = .string(stream)
            object["all"] = .bool(all)
        default: method = follow ? "follow" : "status"
        }
        do {
            return try InspectionRequest(method: method, parameters: object)
        } catch {
            throw ValidationError("\(error.message).")
        }
    }
}
