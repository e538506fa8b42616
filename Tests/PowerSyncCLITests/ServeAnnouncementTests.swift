import PowerSyncService
import Testing

@testable import PowerSyncCLI

/// What `powersync serve` prints when it is ready.
@Suite struct ServeAnnouncementTests {
    private static let dashboard = "http://127.0.0.1:8080/dashboard#key=secret-key"

    private static func text(
        isForPeople: Bool,
        role: ServiceConfiguration.Role = .unified,
        file: String? = "powersync.yaml",
        dashboard: String? = Self.dashboard,
        program: String = "powersync",
        format: LoggingOptions.Format = .text
    ) throws -> String {
        var configuration = ServiceConfiguration(
            source: .embedded(path: "source.db", statements: []),
            storage: .sqlite(path: "buckets.db"),
            syncConfig: .deployed
        )
        configuration.role = role
        configuration.logging.format = format
        configuration.authentication.keys = [.hs256(secret: Array(repeating: 7, count: 32), id: "k")]
        configuration.authentication.audience = ["a"]
        let announcement = ServeAnnouncement(
            configuration: configuration,
            file: file,
            isForPeople: isForPeople,
            program: program
        )
        return announcement.lines(BoundAddress(host: "127.0.0.1", port: 8080), dashboard: dashboard)
            .joined(separator: "\n")
    }

    @Test func peopleGetARequestToPaste() throws {
        let text = try Self.text(isForPeople: true)
        let request = """
              T=$(powersync token --user user-1 --config powersync.yaml)
              curl -N -H "Authorization: Token $T" -H 'Content-Type: application/json' \\
                -d '{"raw_data":true}' http://127.0.0.1:8080/sync/stream
            """
        #expect(text.hasSuffix("\n\(request)"), "\(text)")
        #expect(text.contains(Self.dashboard))
    }

    @Test func noLineOfARequestIsLongerThanALineOfATerminal() throws {
        let lines = try Self.text(isForPeople: true, dashboard: nil).split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= CurlLine.columns }, "\(lines)")
        let encrypted = CurlLine.stream(BoundAddress(host: "127.0.0.1", port: 65535, isEncrypted: true), token: "t")
        #expect(encrypted.allSatisfy { $0.count <= CurlLine.columns }, "\(encrypted)")
    }

    /// As with `make serve`, which installs nothing.
    @Test func theProgramIsFoundWhereItIs() throws {
        let text = try Self.text(isForPeople: true, program: "/srv/my tools/powersync")
        #expect(text.contains("T=$('/srv/my tools/powersync' token --user user-1 --config powersync.yaml)"), "\(text)")
    }

    /// The certificate of the service is for its public name.
    @Test(arguments: [(false, "curl", "http"), (true, "curl -k", "https")])
    func linesToTryReachThisMachine(isEncrypted: Bool, program: String, scheme: String) {
        let address = BoundAddress(host: "127.0.0.1", port: 8080, isEncrypted: isEncrypted)
        let url = "\(scheme)://127.0.0.1:8080"
        let stream = CurlLine.stream(address, token: "powersync token --user u")
        #expect(stream[0] == "  T=$(powersync token --user u)" && stream[1].hasPrefix("  \(program) -N -H "))
        #expect(stream[2].hasSuffix(" \(url)/sync/stream"))
        #expect(CurlLine.lines(address, "/dev/token", "-d 1") == ["  \(program) -d 1 \(url)/dev/token"])
    }

    @Test func linesOfJSONAreAmongThemselves() throws {
        #expect(try Self.text(isForPeople: false, format: .json) == "")
        #expect(try Self.text(isForPeople: true, format: .json) == Self.text(isForPeople: true))
    }

    @Test func logsGetNothingThatLetsAnybodyIn() throws {
        let text = try Self.text(isForPeople: false)
        #expect(text.contains("endpoint   http://127.0.0.1:8080"))
        #expect(text.contains("powersync token --user USER --config powersync.yaml"))
        #expect(!text.contains("ey") && !text.contains("secret-key"), "\(text)")
        let withTokens = try Self.text(isForPeople: false, dashboard: "http://127.0.0.1:8080/dashboard")
        #expect(withTokens.contains("/dashboard, with one of api.tokens"))
    }

    @Test func theCommandForATokenCanBePasted() throws {
        for isForPeople in [true, false] {
            let text = try Self.text(isForPeople: isForPeople, file: "my service.yaml")
            #expect(text.contains("powersync token --user USER --config 'my service.yaml'"), "\(text)")
        }
    }

    @Test func aConfigurationOfTheEnvironmentIsNoArgument() throws {
        for isForPeople in [true, false] {
            let text = try Self.text(isForPeople: isForPeople, file: nil)
            #expect(text.contains("powersync token --user USER") && !text.contains("--config"), "\(text)")
        }
    }

    @Test func whoServesNoClientsOffersNothingToThem() throws {
        for isForPeople in [true, false] {
            let text = try Self.text(isForPeople: isForPeople, role: .sync, dashboard: nil)
            #expect(!text.contains("token") && !text.contains("dashboard") && !text.contains("/sync/stream"), "\(text)")
            #expect(text.contains("/probes/readiness"))
        }
    }
}
