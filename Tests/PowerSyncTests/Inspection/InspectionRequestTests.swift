import NIOCore
import PowerSyncProtocol
import Testing

@testable import PowerSyncClient

/// Requests of JSON-RPC as lines.
@Suite struct InspectionRequestTests {
    private func error(_ line: String) -> RPCError? {
        do throws(RPCError) {
            let request = try RPCRequest(parsing: ByteBuffer(string: line))
            _ = try InspectionRequest(method: request.method, parameters: request.parameters)
            return nil
        } catch {
            return error
        }
    }

    @Test func whatIsNoRequestIsNamed() {
        let cases: [(line: String, code: RPCError.Code, id: ExactJSON)] = [
            ("hello", .parseError, .null), ("{", .parseError, .null), ("\u{0}", .parseError, .null),
            (String(repeating: "[", count: 100_000), .parseError, .null),
            ("1", .invalidRequest, .null), ("[]", .invalidRequest, .null),
            (#"[{"jsonrpc":"2.0","id":1,"method":"status"}]"#, .invalidRequest, .null),
            (#"{"id":7,"method":"status"}"#, .invalidRequest, 7),
            (#"{"jsonrpc":"1.0","id":"a","method":"status"}"#, .invalidRequest, "a"),
            (#"{"jsonrpc":"2.0","id":1}"#, .invalidRequest, 1),
            (#"{"jsonrpc":"2.0","id":1,"method":1}"#, .invalidRequest, 1),
            (#"{"jsonrpc":"2.0","id":null,"method":"status"}"#, .invalidRequest, .null),
            (#"{"jsonrpc":"2.0","id":{},"method":"status"}"#, .invalidRequest, .null),
            (#"{"jsonrpc":"2.0","id":1,"method":"status","params":[]}"#, .invalidParameters, 1),
        ]
        for (line, code, id) in cases {
            #expect(error(line)?.code == code, "\(line.prefix(80))")
            #expect(error(line)?.id == id, "\(line.prefix(80))")
        }
    }

    @Test func parametersAreCheckedOneByOne() {
        let cases: [(method: String, parameters: String, message: String)] = [
            ("drop", "{}", "There is no method drop"),
            ("status", #"{"a":1}"#, "There is no parameter a"),
            ("query", "{}", "sql is missing"),
            ("query", #"{"sql":null}"#, "sql is missing"),
            ("query", #"{"sql":1}"#, "sql has to be a text"),
            ("query", #"{"sql":"x","limit":0}"#, "limit has to be a whole number from 1 to 10000"),
            ("query", #"{"sql":"x","limit":10001}"#, "limit has to be a whole number from 1 to 10000"),
            ("query", #"{"sql":"x","limit":9223372036854775807}"#, "limit has to be a whole number from 1 to 10000"),
            ("query", #"{"sql":"x","limit":1.5}"#, "limit has to be a whole number from 1 to 10000"),
            ("query", #"{"sql":"x","parameters":{}}"#, "parameters has to be an array"),
            ("query", #"{"sql":"x","key":"k"}"#, "There is no parameter key"),
            ("subscribe", "{}", "stream is missing"),
            ("subscribe", #"{"stream":"s","parameters":[]}"#, "parameters has to be an object"),
            ("subscribe", #"{"stream":"s","priority":4}"#, "priority has to be a whole number from 0 to 3"),
            ("subscribe", #"{"stream":"s","ttl":"1"}"#, "ttl has to be a number"),
            ("unsubscribe", #"{"stream":"s","all":1}"#, "all has to be true or false"),
        ]
        for (method, parameters, message) in cases {
            let line = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#
            #expect(error(line)?.message == message, "\(line)")
        }
    }

    @Test func requestsAreReadAsTheyAreWritten() throws {
        let stream = InspectedStream(name: "s", parameters: ["a": 1])
        let requests: [InspectionRequest] = [
            .status, .follow, .query(InspectionQuery(sql: "SELECT ?", parameters: [1, "x", nil, 1.5, true], limit: 5)),
            .query(InspectionQuery(sql: "SELECT 1")), .subscribe(stream, ttl: 1.5, priority: 2),
            .subscribe(InspectedStream(name: "s", parameters: nil), ttl: nil, priority: nil),
            .unsubscribe(stream, all: true), .unsubscribe(stream, all: false),
        ]
        for request in requests {
            let line = RPCRequest(id: 1, method: request.method, parameters: request.parameters).text
            let read = try RPCRequest(parsing: ByteBuffer(string: line))
            #expect(try InspectionRequest(method: read.method, parameters: read.parameters) == request)
        }
    }
}
