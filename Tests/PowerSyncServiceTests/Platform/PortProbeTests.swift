import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import PowerSyncService

/// Trying a port without listening on it.
@Suite(.timeLimit(.minutes(1))) struct PortProbeTests {
    /// Connects as often as possible while a closure runs.
    ///
    /// - Returns: How many connections were accepted.
    private static func accepted(on port: Int, while body: () throws -> Void) async throws -> Int {
        let count = NIOLockedValueBox(0)
        let task = Task {
            while !Task.isCancelled {
                let channel = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .connect(host: "127.0.0.1", port: port).get()
                if let channel {
                    count.withLockedValue { $0 += 1 }
                    try? await channel.close()
                }
            }
        }
        for _ in 0..<500 {
            try body()
            await Task.yield()
        }
        task.cancel()
        await task.value
        return count.withLockedValue { $0 }
    }

    @Test func nobodyIsAcceptedWhileAPortIsTried() async throws {
        let port = FreePort.take()
        let accepted = try await Self.accepted(on: port) { try PortProbe.take("127.0.0.1", port) }
        #expect(accepted == 0)
    }

    @Test(arguments: ["127.0.0.1", "0.0.0.0"])
    func aFreePortIsFree(_ host: String) throws {
        try PortProbe.take(host, FreePort.take())
        try PortProbe.take(host, 0)
    }

    @Test func aPortThatIsListenedOnIsTaken() async throws {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(channel.localAddress?.port)
        for host in ["127.0.0.1", "0.0.0.0"] {
            let error = #expect(throws: IOError.self) { try PortProbe.take(host, port) }
            #expect(error?.errnoCode == EADDRINUSE)
        }
        try await channel.close()
        try PortProbe.take("127.0.0.1", port)
    }

    @Test(arguments: ["192.0.2.1", "no-such-host.invalid", "[::1]", "a b"])
    func aHostThatIsNotThisMachineIsSaid(_ host: String) {
        let error = #expect(throws: IOError.self) { try PortProbe.take(host, 0) }
        #expect(error?.errnoCode == EADDRNOTAVAIL)
        var configuration = ServiceConfiguration(
            source: .embedded(path: "a", statements: []),
            storage: .sqlite(path: "b"),
            syncConfig: .deployed
        )
        configuration.host = host
        let told = error.map { configuration.startError($0) } as? ServiceError
        #expect(told?.key == "host")
        #expect(told?.message.contains("not an address of this machine") == true)
    }
}
