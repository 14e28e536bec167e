"""Talks to `mavis mcp` with the official client of the protocol and prints what came back, as one JSON object.

Usage: mcp_tools.py MAVIS. Needs the Python package mcp.
"""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(program):
    server = StdioServerParameters(command=program, args=["mcp"])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        tools = (await session.list_tools()).tools
        analysis = await session.call_tool("analyze", {"dynamics": "connect4", "moves": ["4", "4"], "player": "mav"})
        best = await session.call_tool(
            "best_move", {"objective": "win", "dynamics": "chess", "state": "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"}
        )
        wrong = await session.call_tool("play_move", {"dynamics": "othello", "move": "a1"})
        dump = lambda result: result.model_dump(mode="json", by_alias=True)
        report = {
            "server": dump(hello)["serverInfo"]["name"],
            "tools": sorted(tool.name for tool in tools),
            "analysis": dump(analysis)["structuredContent"],
            "best": dump(best)["structuredContent"],
            "wrong": dump(wrong),
        }
        print(json.dumps(report))


asyncio.run(main(sys.argv[1]))
