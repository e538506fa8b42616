import Foundation
import PowerSyncProtocol
import RunningServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncOperations
@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// A running service, as `powersync doctor --service` sees it through what is before it.
@Suite(.timeLimit(.minutes(2))) struct PublicServiceTests {
    private typealias Scenario = ServiceScenario

    private static let allGood = [
        "is ready", "requests and their Authorization arrive", "lines of streams arrive when they are sent",
        "WebSockets can be opened", "the token is accepted, and its stream begins",
    ]

    /// The findings about a service at an address, without the clock.
    private static func examine(
        _ url: String,
        token: String?,
        authority: String? = nil
    ) async throws -> [Finding] {
        let service = try PublicService(address: url, token: token, authorityFile: authority)
        let findings = try await Doctor(logger: Scenario.logger).examine(service)
        findings.expectRemedies()
        return findings.filter { $0.area == .service }
    }

    private static func problems(_ findings: [Finding]) -> [Finding] {
        findings.filter { $0.severity != .ok }
    }

    @Test func aServiceWithoutAProxyIsInOrder() async throws {
        try await Scenario.run { scenario in
            // A slash at the end is no matter.
            let findings = try await Self.examine(scenario.address.url + "/", token: try scenario.token())
            #expect(findings.map(\.message) == Self.allGood)
            #expect(findings.allSatisfy { $0.severity == .ok })
        }
    }

    @Test func aServiceThatSpeaksTLSIsInOrder() async throws {
        let folder = try TemporaryFolder()
        let files = try TLSFiles(in: folder)
        let authority = folder.path("authority.pem")
        try LoopbackCertificates.authority.write(toFile: authority, atomically: true, encoding: .utf8)
        try await Scenario.run { configuration in
            configuration.tls = files
        } _: { scenario in
            #expect(scenario.address.url.hasPrefix("https://"))
            let findings = try await Self.examine(
                scenario.address.url,
                token: try scenario.token(),
                authority: authority
            )
            #expect(findings.map(\.message) == Self.allGood, "\(findings)")
            // Without the authority, nobody is there who could be trusted.
            let others = try await Self.examine(scenario.address.url, token: nil)
            #expect(others.map(\.severity) == [.error])
            #expect(others.first?.message.hasPrefix("does not answer") == true)
        }
    }

    @Test func aProxyThatKeepsLinesIsAnError() async throws {
        try await Scenario.run { scenario in
            let proxy = try await BufferingProxy(to: scenario.address.port, keepingBodies: .untilEnd)
            let findings = try await Self.examine(proxy.url, token: nil)
            let finding = findings.first { $0.severity == .error }
            #expect(finding?.message.hasPrefix("a proxy keeps lines of streams back") == true, "\(findings)")
            #expect(finding?.remedy?.contains("proxy_buffering off") == true)
            try await proxy.stop()
        }
    }

    @Test func answersMayComeByteByByte() async throws {
        try await Scenario.run { scenario in
            let proxy = try await BufferingProxy(to: scenario.address.port, keepingBodies: .byteByByte)
            let late = try scenario.token(now: Date(timeIntervalSince1970: 1_700_000_000))
            for (token, expected) in [(try scenario.token(), []), (late, [ErrorCode.tokenExpired])] {
                let findings = try await Self.examine(proxy.url, token: token)
                let requests = findings.filter { !$0.message.contains("WebSocket") }
                #expect(Self.problems(requests).map(\.code) == expected, "\(findings)")
            }
            try await proxy.stop()
        }
    }

    @Test func aTokenThatIsRefusedIsAnErrorWithItsCode() async throws {
        try await Scenario.run { scenario in
            let token = try scenario.token(now: Date(timeIntervalSince1970: 1_700_000_000))
            let problems = Self.problems(try await Self.examine(scenario.address.url, token: token))
            #expect(problems.map(\.code) == [.tokenExpired])
            #expect(problems.first?.message == "the stream of the token is refused: JWT has expired")
        }
    }

    @Test func nobodyThereIsOneError() async throws {
        let problems = try await Self.examine("http://127.0.0.1:1", token: nil)
        #expect(problems.map(\.severity) == [.error])
        #expect(problems.first?.message.hasPrefix("does not answer") == true)
    }

    @Test(arguments: ["sync.example.com", "ftp://sync.example.com", "https://", ""])
    func anAddressThatIsNoneIsRefused(address: String) {
        #expect(throws: ServiceError.self) { try PublicService(address: address, token: nil) }
    }

    @Test(arguments: ["https://me:hunter2@sync.example.com", "me:hunter2@sync.example.com", "https://hunter2@"])
    func anAddressWithAPasswordIsNotShown(_ address: String) {
        #expect {
            try PublicService(address: address, token: nil)
        } throws: { error in
            !"\(error)".contains("hunter2")
        }
    }

    // MARK: Behind nginx

    @Test(.enabled(if: !ProxyProcess.areUnwanted, "POWERSYNC_NO_PROXIES is set"))
    func nginxThatRemovesAuthorizationIsAnError() async throws {
        try await Scenario.run { scenario in
            let location = NginxProxy.location + ["proxy_set_header Authorization '';"]
            try await NginxProxy.run(to: scenario, location: location) { proxy in
                let problems = Self.problems(try await Self.examine(proxy.address.url, token: nil))
                #expect(problems.map(\.message) == ["the Authorization header of requests does not arrive"])
            }
        }
    }

    @Test(.enabled(if: !ProxyProcess.areUnwanted, "POWERSYNC_NO_PROXIES is set"))
    func nginxThatBuffersIsAnError() async throws {
        try await Scenario.run { scenario in
            // The service asks nginx not to, and this one does not listen. HTTP/1.0 has no chunks that it could pass on.
            let location = [
                "proxy_pass http://service;", "proxy_http_version 1.0;", "proxy_ignore_headers X-Accel-Buffering;",
            ]
            try await NginxProxy.run(to: scenario, location: location) { proxy in
                let problems = Self.problems(try await Self.examine(proxy.address.url, token: nil))
                #expect(problems.map(\.severity) == [.error, .warning], "\(problems)")
                #expect(problems.first?.message.hasPrefix("a proxy keeps lines of streams back") == true)
            }
        }
    }

    @Test(.enabled(if: !ProxyProcess.areUnwanted, "POWERSYNC_NO_PROXIES is set"))
    func nginxWithoutUpgradesIsAWarning() async throws {
        try await Scenario.run { scenario in
            try await NginxProxy.run(to: scenario, location: ["proxy_pass http://service;"]) { proxy in
                let problems = Self.problems(try await Self.examine(proxy.address.url, token: nil))
                #expect(problems.map(\.severity) == [.warning], "\(problems)")
                #expect(problems.first?.message.hasPrefix("WebSockets cannot be opened") == true)
            }
        }
    }

    @Test(.enabled(if: !ProxyProcess.areUnwanted, "POWERSYNC_NO_PROXIES is set"))
    func nginxThatAnswersItselfIsAnError() async throws {
        try await Scenario.run { scenario in
            try await NginxProxy.run(to: scenario, location: ["return 200 hello;"]) { proxy in
                let problems = Self.problems(try await Self.examine(proxy.address.url, token: nil))
                #expect(problems.first?.message == "something else answers /probes/readiness: status 200")
                #expect(problems.contains { $0.message.hasPrefix("something else answers /sync/stream") })
            }
        }
    }

    @Test(.enabled(if: !ProxyProcess.areUnwanted, "POWERSYNC_NO_PROXIES is set"))
    func nginxThatRedirectsIsAnErrorWithTheTarget() async throws {
        try await Scenario.run { scenario in
            try await NginxProxy.run(
                to: scenario,
                location: ["return 302 https://login.example.com:8443/?next=private;"]
            ) { proxy in
                let problems = Self.problems(try await Self.examine(proxy.address.url, token: try scenario.token()))
                // The probe, the requests, the lines, the WebSocket, the stream of the token.
                #expect(problems.count == 5, "\(problems)")
                for problem in problems {
                    #expect(
                        problem.message.contains(
                            "It redirects to https://login.example.com:8443, which is not followed"
                        )
                    )
                    #expect(!problem.message.contains("private"))
                }
            }
        }
    }
}
