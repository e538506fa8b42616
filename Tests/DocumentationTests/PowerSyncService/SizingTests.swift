import Foundation
import Testing

/// The numbers on the page "Sizing a service" are those that stand where they were measured, and the defaults of the service.
@Suite struct SizingTests {
    private static let page = "Sources/PowerSyncService/Documentation.docc/SizingAService.md"

    private static func text(_ path: String) throws -> String {
        try Page(path: path).text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test(
        arguments: [
            "0.3 % of a core", "after 0.4 s", "after 0.09 s", "566,000 and 1,740,000 rows/s", "48 KiB", "79,000",
            "50,000", "369",
        ]
    )
    func whatWasMeasuredStandsInTheReadme(_ figure: String) throws {
        #expect(try Self.text(Self.page).contains(figure))
        #expect(try Self.text("README.md").contains(figure))
    }

    @Test(arguments: ["256 MiB", "32 MiB", "16 MiB", "414 bytes a row", "128 MiB"])
    func theRestStandsInThePageOfTheService(_ figure: String) throws {
        #expect(try Self.text(Self.page).contains(figure))
        #expect(try Self.text("docs/service.md").contains(figure))
    }

    @Test(arguments: [
        ("max_concurrent_connections", "200"), ("max_data_fetch_concurrency", "10"), ("max_streams_per_user", "100"),
    ])
    func defaultsAreThoseOfTheConfigurationReference(key: String, value: String) throws {
        let reference = try Self.text("Sources/PowerSyncService/Documentation.docc/ConfigurationReference.md")
        #expect(reference.contains("| `\(key)` | \(value) |"))
        #expect(try Self.text(Self.page).contains(value))
    }
}
