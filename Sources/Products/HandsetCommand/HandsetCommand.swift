// SPDX-License-Identifier: Apache-2.0

@main
struct HandsetCommand {
    static func main() {}
}
