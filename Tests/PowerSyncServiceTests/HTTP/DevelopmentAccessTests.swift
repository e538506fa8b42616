import Testing

@testable import PowerSyncService

/// Which pages, and which names of the service, the endpoints for development are for.
@Suite struct DevelopmentAccessTests {
    @Test(arguments: [
        "http://localhost", "http://localhost:5173", "https://localhost", "HTTP://LocalHost:80", "http://app.localhost",
        "http://a.b.localhost:1", "http://localhost.:5173", "http://127.0.0.1", "http://127.9.9.9:65535",
        "https://[::1]", "http://[::1]:5173", "http://[0:0:0:0:0:0:0:1]",
    ])
    func isOfThisMachine(_ origin: String) {
        #expect(DevelopmentAccess.isLocal(origin: origin))
    }

    @Test(arguments: [
        "", "null", "localhost", "file://", "file://localhost", "capacitor://localhost", "https://evil.example",
        "http://localhost.evil.example", "http://evil-localhost", "http://notlocalhost:5173",
        "http://127.0.0.1.evil.example", "http://127.1.evil.example", "http://128.0.0.1", "http://192.168.1.7",
        "http://[::2]",
        "http://[fe80::1]", "http://[::1", "http://[::1]x", "http://[localhost]", "http://::1",
        "http://localhost@evil.example",
        "http://evil.example/.localhost", "http://localhost:80.evil.example", "http://", "http://:80", "http://.",
        "http://localhost, https://evil.example",
    ])
    func isOfAnotherPlace(_ origin: String) {
        #expect(!DevelopmentAccess.isLocal(origin: origin))
    }

    @Test(arguments: [
        ("localhost", true), ("localhost:8080", true), ("app.localhost:8080", true), ("127.0.0.1:8080", true),
        ("192.168.1.7", true), ("10.0.2.2:8080", true), ("[::1]:8080", true), ("[2001:db8::1]", true),
        ("devbox.lan", true), ("DevBox.lan:8080", true), ("evil.example", false), ("devbox.lan.evil.example", false),
        ("localhost.evil.example:8080", false), ("192.168.1.7.evil.example", false), ("1.2.3", false), ("", false),
        (":8080", false), ("[evil.example]", false), ("user@localhost", false),
    ])
    func namesThatLeadHere(_ host: String, _ isAccepted: Bool) {
        #expect(DevelopmentAccess(host: "Devbox.lan").accepts(host: host) == isAccepted)
    }

    @Test(arguments: [
        ("/dev/token", true), ("/dev", true), ("//dev//write", true), ("/dev/other", true), ("/development", false),
        ("/", false), ("", false), ("/sync/dev/token", false),
    ])
    func pathsOfItsEndpoints(_ path: String, _ isOwned: Bool) {
        #expect(DevelopmentAccess.owns(path) == isOwned)
    }
}
