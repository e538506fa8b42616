import NIOCore
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import HTTPConnections
@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// The service ends in time and without an error, whatever its connections are doing.
@Suite(.timeLimit(.minutes(1))) struct ShutdownTests {
    private typealias Scenario = ServiceScenario

    enum State: String, CaseIterable, CustomTestStringConvertible {
        case silent, head, body, endlessBody, unreadBody, malformed, ignoredUpgrade, webSocket, beforeSetup, idle,
            stream
        var testDescription: String { rawValue }

        /// What a client sends, for a token.
        func request(_ token: String) -> String {
            let fields = ["Authorization: Token \(token)", "Content-Type: application/json"]
            return switch self {
            case .silent: ""
            case .head: "POST /sync/stream HTTP/1.1\r\nHost: x\r\nAuth"
            case .body: RawRequests.request("POST /sync/stream", fields + ["Content-Length: 100"]) + "{"
            case .endlessBody:
                RawRequests.request("POST /dev/write", fields + ["Transfer-Encoding: chunked"]) + "1\r\n{\r\n"
            case .unreadBody: RawRequests.request("POST /nowhere", ["Content-Length: 1000"]) + "{"
            case .malformed: "BREW /coffee\r\n\r\n"
            case .ignoredUpgrade:
                RawRequests.request(
                    "GET /probes/liveness",
                    ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"]
                )
            case .webSocket, .beforeSetup: RawRequests.request("GET /sync/stream", RawRequests.handshake())
            case .idle: RawRequests.probe
            case .stream: RawRequests.request("POST /sync/stream", fields + ["Content-Length: 2"]) + "{}"
            }
        }

        /// With what the service shows that it is in this state; `nil` when it says nothing.
        var answer: String? {
            switch self {
            case .silent, .head, .body, .endlessBody: nil
            case .unreadBody, .malformed: "}}"
            case .ignoredUpgrade, .idle: "touched_at"
            case .webSocket, .beforeSetup: "\r\n\r\n"
            case .stream: "checkpoint_complete"
            }
        }

        /// More connections where that is what it is about, as many as the process may have.
        var count: Int {
            self == .silent ? min(1000, (ConnectionCount.limitOfProcess - 100) / 2) : 20
        }
    }

    @Test(arguments: State.allCases)
    func connectionsDoNotKeepTheService(_ state: State) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let open = ChangeSignal()
            try await Scenario.run { scenario in
                let port = scenario.address.port
                let request = state.request(try scenario.token())
                func wait(forOpen count: Int) async throws {
                    while true {
                        let seen = open.version
                        if seen >= count { break }
                        try await open.wait(after: seen)
                    }
                    // Their requests have arrived when one that was sent later is answered.
                    #expect(try await scenario.send("GET", "/probes/readiness").status == 200)
                }
                for number in 0..<state.count {
                    // More at a time than the listener has places for: some would be open for the client only.
                    if number.isMultiple(of: 100) { try await wait(forOpen: number) }
                    group.addTask {
                        try await RawConnection.connect(port: port) { connection in
                            try await connection.send(request)
                            if let answer = state.answer { _ = try await connection.text(until: answer) }
                            if state == .beforeSetup {
                                // The head of a frame of 16 MiB, and a part of it.
                                var bytes = ByteBuffer(bytes: [0x82, 0x80 | 127])
                                bytes.writeInteger(UInt64(16 * 1024 * 1024))
                                bytes.writeInteger(UInt32(0))
                                bytes.writeRepeatingByte(0, count: 32 * 1024)
                                try await connection.send(bytes)
                            }
                            open.advance()
                            while let bytes = try? await connection.read() { _ = bytes }
                        }
                    }
                }
                try await wait(forOpen: state.count)
            }
            try await group.waitForAll()
        }
    }

    @Test func whoIsAnsweredDuringTheShutdownHearsThatTheServiceIsNotReady() async throws {
        let folder = try TemporaryFolder()
        try await withThrowingTaskGroup(of: Void.self) { group in
            let open = ChangeSignal()
            let ended = ChangeSignal()
            try await Scenario.run(in: folder) { scenario in
                let port = scenario.address.port
                let token = try scenario.token()
                let body: JSONObject = ["data": [.object(Scenario.put("lists", "l1", ["name": "A"]))]]
                let fields = [
                    "Authorization: Token \(token)", "Content-Type: application/json",
                    "Content-Length: \(body.text.utf8.count)",
                ]
                let write = RawRequests.request("POST /dev/write", fields) + body.text
                let question = RawRequests.request("GET /probes/readiness")
                let lock = try SourceLock(folder)
                group.addTask {
                    try await RawConnection.connect(port: port) { connection in
                        // When the first one is answered, all of them have arrived.
                        try await connection.send(RawRequests.probe + write + question)
                        var text = try await connection.text(until: "touched_at")
                        open.advance()
                        while let bytes = try? await connection.read() { text += String(buffer: bytes) }
                        let statuses = RawRequests.statuses(of: text)
                        #expect(statuses.count == 3 && statuses.last == "400", "\(text)")
                    }
                }
                group.addTask {
                    try await RawConnection.connect(port: port) { connection in
                        #expect(try await connection.probe())
                        open.advance()
                        try await ended.wait(after: 0)
                        // It may be closed by now.
                        try? await connection.send(question)
                        var text = ""
                        while let bytes = try? await connection.read() { text += String(buffer: bytes) }
                        #expect(!RawRequests.statuses(of: text).contains("200"), "\(text)")
                    }
                }
                group.addTask {
                    try await RawConnection.connect(port: port) { connection in
                        try await connection.send(State.stream.request(token))
                        _ = try await connection.text(until: "checkpoint_complete")
                        open.advance()
                        while let bytes = try? await connection.read() { _ = bytes }
                    }
                    // The service shuts down.
                    ended.advance()
                    try lock.release()
                }
                while true {
                    let seen = open.version
                    if seen >= 3 { break }
                    try await open.wait(after: seen)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func clientsThatLostTheServiceComeBackAllAtOnce() async throws {
        let folder = try TemporaryFolder()
        for _ in 0..<2 {
            let configure = { (configuration: inout ServiceConfiguration) in
                configuration.limits.maxConcurrentConnections = 400
                configuration.limits.maxStreamsPerUser = 400
            }
            try await Scenario.run(in: folder, configure: configure) { scenario in
                let port = scenario.address.port
                let request = State.stream.request(try scenario.token())
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<min(300, (ConnectionCount.limitOfProcess - 100) / 2) {
                        group.addTask {
                            try await RawConnection.connect(port: port) { connection in
                                try await connection.send(request)
                                return try await connection.text(until: "checkpoint_complete").hasPrefix("HTTP/1.1 200")
                            }
                        }
                    }
                    for try await isServed in group { #expect(isServed) }
                }
                #expect(try await scenario.send("GET", "/probes/readiness").status == 200)
            }
        }
    }
}
