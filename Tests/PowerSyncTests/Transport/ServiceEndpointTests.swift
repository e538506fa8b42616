import Testing

@testable import PowerSyncClient

@Suite struct ServiceEndpointTests {
    @Test(
        arguments: [
            ("https://x", "https://x/sync/stream"),
            ("https://x/", "https://x/sync/stream"),
            ("https://x//", "https://x/sync/stream"),
            ("https://x:8443/prefix", "https://x:8443/prefix/sync/stream"),
            ("https://x/a%20b/c/", "https://x/a%20b/c/sync/stream"),
            ("HTTP://localhost:8080", "http://localhost:8080/sync/stream"),
            ("http://[::1]:8080/", "http://[::1]:8080/sync/stream"),
            ("https://user:secret@x/?a=b#c", "https://x/sync/stream"),
        ]
    )
    func pathIsAppended(endpoint: String, url: String) throws {
        #expect(try ServiceEndpoint(endpoint).url(path: "/sync/stream") == url)
    }

    @Test(
        arguments: [
            "", "x", "ftp://x", "https://", "https:///path", "ht tp://x", "://", "http://127.0.0.1:65536",
            "https://x:80800",
        ]
    )
    func addressThatIsNotAServiceIsRejectedByName(text: String) throws {
        let error = #expect(throws: PowerSyncError.self) { try ServiceEndpoint(text) }
        #expect(try #require(error?.errorDescription).contains("\"\(text)\""))
    }

    @Test func queryValuesAreEncoded() throws {
        let url = try ServiceEndpoint("https://x").url(path: "/p", query: ["client_id": "a b&c=ü+\u{1}"])
        #expect(url == "https://x/p?client_id=a%20b%26c%3D%C3%BC%2B%01")
    }

    @Test func plainHTTPIsRecognised() throws {
        #expect(try ServiceEndpoint("http://x").isPlaintext)
        #expect(try !ServiceEndpoint("https://x").isPlaintext)
    }
}
