import Foundation
import NIOCore
import PowerSync
import PowerSyncClient
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncInspection

/// The session of an assistant, line by line.
@Suite(.timeLimit(.minutes(1))) struct ModelContextProtocolTests {
    /// An assistant of an app that does not run.
    private let lonely = ModelContextProtocol(allowsSubscriptions: false) {
        try await RunningApp(path: "/nowhere").ask($0)
    }

    private func answer(_ line: String, of server: ModelContextProtocol) async throws -> JSONObject? {
        try await server.answer(ByteBuffer(string: line)).map { try JSONObject(parsing: $0) }
    }

    private func result(
        _ method: String,
        _ parameters: JSONObject,
        of server: ModelContextProtocol
    ) async throws -> JSONObject {
        let line = RPCRequest(id: 1, method: method, parameters: parameters).text
        let answer = try #require(try await answer(line, of: server))
        #expect(answer["jsonrpc"] == "2.0" && answer["id"] == 1)
        guard case .object(let result)? = answer["result"] ?? answer["error"] else { return answer }
        return result
    }

    private func call(
        _ tool: String,
        _ arguments: JSONObject,
        of server: ModelContextProtocol
    ) async throws -> JSONObject {
        try await result("tools/call", ["name": .string(tool), "arguments": .object(arguments)], of: server)
    }

    @Test func aSessionBeginsWithAGreeting() async throws {
        let client: JSONObject = [
            "protocolVersion": "2025-06-18", "capabilities": [:], "clientInfo": ["name": "t", "version": "1"],
        ]
        let greeting = try await result("initialize", client, of: lonely)
        #expect(greeting["protocolVersion"] == "2025-06-18")
        #expect(greeting["capabilities"]?.text == #"{"tools":{}}"#)
        guard case .object(let server)? = greeting["serverInfo"] else {
            Issue.record("\(greeting.text)")
            return
        }
        #expect(server["name"] == "powersync-inspect" && server["version"] == .string(PackageVersion.current))
        #expect(try await answer(#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, of: lonely) == nil)
        #expect(try await result("ping", [:], of: lonely) == [:])
        let older = try await result("initialize", ["protocolVersion": "2024-11-05"], of: lonely)
        #expect(older["protocolVersion"] == "2024-11-05")
        for unknown in ["1999-01-01", "2099-01-01"] as [ExactJSON] {
            let other = try await result("initialize", ["protocolVersion": unknown], of: lonely)
            #expect(other["protocolVersion"] == "2025-06-18")
        }
    }

    @Test func toolsThatChangeSomethingAreThereWhenTheyAreAllowed() async throws {
        func tools(_ server: ModelContextProtocol) async throws -> [JSONObject] {
            guard case .array(let tools)? = try await result("tools/list", [:], of: server)["tools"] else { return [] }
            return tools.compactMap { if case .object(let tool) = $0 { tool } else { nil } }
        }
        let reading = try await tools(lonely)
        #expect(reading.map { $0["name"] } == ["status", "query"])
        #expect(reading.allSatisfy { $0["annotations"]?.text.contains(#""readOnlyHint":true"#) == true })
        let allowed = ModelContextProtocol(allowsSubscriptions: true) { _ in [:] }
        let all = try await tools(allowed)
        #expect(all.map { $0["name"] } == ["status", "query", "subscribe", "unsubscribe"])
        for tool in all {
            guard case .object(let schema)? = tool["inputSchema"], case .object(let properties)? = schema["properties"]
            else {
                Issue.record("\(tool.text)")
                continue
            }
            #expect(schema["type"] == "object")
            guard case .string(let name)? = tool["name"] else { continue }
            // What is described is what is taken.
            for property in properties.members {
                let request = Result { () throws(RPCError) in
                    try InspectionRequest(
                        method: name,
                        parameters: ["sql": "x", "stream": "s", property.name: .object([:])]
                    )
                }
                guard case .failure(let error) = request else { continue }
                #expect(error.message != "There is no parameter \(property.name)")
            }
        }
        #expect(try await call("subscribe", ["stream": "s"], of: allowed)["isError"] == false)
        let withheld = try await call("subscribe", ["stream": "s"], of: lonely)
        #expect(withheld["code"] == -32602)
        #expect(withheld["message"]?.text.contains("--allow-subscriptions") == true)
    }

    @Test func mistakesOfTheProtocolAreErrors() async throws {
        let cases: [(line: String, code: ExactJSON, id: ExactJSON)] = [
            ("{", -32700, nil), ("[]", -32600, nil), (#"{"jsonrpc":"2.0","id":5}"#, -32600, 5),
            (#"{"jsonrpc":"2.0","id":"a","method":"resources/list"}"#, -32601, "a"),
            (#"{"jsonrpc":"2.0","id":5,"method":"tools/call"}"#, -32602, 5),
            (#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"drop"}}"#, -32602, 5),
            (#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"follow"}}"#, -32602, 5),
            (#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"status","arguments":[]}}"#, -32602, 5),
            (#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"query","arguments":{}}}"#, -32602, 5),
            (
                #"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"query","arguments":{"sql":"x","limit":0}}}"#,
                -32602, 5
            ),
        ]
        for (line, code, id) in cases {
            let answer = try await answer(line, of: lonely)
            #expect(answer?["id"] == id, "\(line)")
            guard case .object(let error)? = answer?["error"] else {
                Issue.record("\(line)")
                continue
            }
            #expect(error["code"] == code, "\(line)")
        }
    }

    @Test func anAppThatDoesNotRunIsAResultThatTheAssistantReads() async throws {
        let result = try await call("status", [:], of: lonely)
        #expect(result["isError"] == true)
        #expect(result["content"]?.text.contains("No app listens at /nowhere") == true)
    }

    @Test func toolsAskTheApp() async throws {
        let fixture = try await RunningAppFixture()
        let app = fixture.app
        let server = ModelContextProtocol(allowsSubscriptions: true) { try await app.ask($0) }
        try await fixture.whileListening {
            let status = try await call("status", [:], of: server)
            #expect(status["isError"] == false)
            guard case .object(let structured)? = status["structuredContent"] else {
                Issue.record("\(status.text)")
                return
            }
            #expect(structured["isConnected"] == true)
            #expect(status["content"] == [["type": "text", "text": .string(structured.text)]])
            let rows = try await call(
                "query",
                ["sql": "SELECT name FROM lists WHERE id = ?", "parameters": ["l1"]],
                of: server
            )
            #expect(
                rows["structuredContent"]?.text == #"{"columns":["name"],"rows":[["Groceries"]],"isComplete":true}"#
            )
            let numbers = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
            for (limit, count) in [(nil, 100), (150, 150)] as [(ExactJSON?, Int)] {
                var arguments: JSONObject = ["sql": .string(numbers)]
                arguments["limit"] = limit
                guard case .object(let result)? = try await call("query", arguments, of: server)["structuredContent"],
                    case .array(let rows)? = result["rows"]
                else {
                    Issue.record("no rows")
                    return
                }
                #expect(rows.count == count && result["isComplete"] == false)
            }
            let refused = try await call("query", ["sql": "DELETE FROM lists"], of: server)
            #expect(refused["isError"] == true)
            #expect(refused["content"]?.text.contains("Only statements that read are run") == true)
            let stream: JSONObject = ["stream": "todos", "parameters": ["list": "l1"]]
            #expect(try await call("subscribe", stream, of: server)["isError"] == false)
            try await fixture.database.waitForStatus { status in
                status.syncStreams?.contains { $0.subscription.name == "todos" && $0.subscription.hasSynced } == true
            }
            #expect(try await call("unsubscribe", stream, of: server)["isError"] == false)
            #expect(try await call("unsubscribe", stream, of: server)["isError"] == true)
        }
        // The assistant stays when the app goes.
        #expect(try await call("status", [:], of: server)["isError"] == true)
        try await fixture.whileListening {
            let again = try await call("status", [:], of: server)
            #expect(again["isError"] == false)
        }
        try await fixture.database.close()
    }

    @Test func linesOfStandardInputAreReadOneByOne() async throws {
        let pipe = Pipe()
        var lines = StandardInputLines(pipe.fileHandleForReading)
        try pipe.fileHandleForWriting.write(contentsOf: Data("one\n\n two \nthr".utf8))
        #expect(try await lines.next().map(String.init(buffer:)) == "one")
        #expect(try await lines.next().map(String.init(buffer:)) == "two")
        try pipe.fileHandleForWriting.write(contentsOf: Data("ee".utf8))
        try pipe.fileHandleForWriting.close()
        #expect(try await lines.next().map(String.init(buffer:)) == "three")
        #expect(try await lines.next() == nil)
    }
}
