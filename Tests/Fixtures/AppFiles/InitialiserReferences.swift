// Initialisers as functions: one more `init?` with a label of its own makes each of them ambiguous.
import Foundation
import PowerSync

func ids(_ text: String?, _ texts: [String]) -> [UUID?] {
    let one = text.flatMap(UUID.init)
    return [one] + texts.compactMap(UUID.init)
}
func links(_ texts: [String]) -> [URL] { texts.compactMap(URL.init) }
func owner(_ cursor: any SqlCursor) throws -> UUID? {
    try cursor.getStringOptional(name: "owner_id").flatMap(UUID.init)
}
